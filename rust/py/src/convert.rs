//! NumPy arrays as batches of rows, without copying whole arrays.

use dpfit_core::Error;
use dpfit_core::source::{Source, Strip, prefetch, transpose};
use numpy::{PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::raise;

/// The types of numbers that can be read.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// A view of a NumPy array with one or two dimensions.
#[derive(Debug)]
struct View {
    data: *const u8,
    rows: usize,
    columns: usize,
    row_stride: isize,
    column_stride: isize,
    kind: Kind,
}

// SAFETY: the pointer is only used for reading, in `View::read`; see the comments there.
#[allow(unsafe_code)]
unsafe impl Sync for View {}

impl View {
    fn new(array: &Bound<'_, PyUntypedArray>, name: &'static str, dimensions: usize) -> PyResult<Self> {
        if array.ndim() != dimensions {
            let got = array.ndim();
            return Err(raise(&Error::Parameter {
                name,
                allowed: format!("a {dimensions}D array"),
                got: format!("a {got}D array"),
            }));
        }
        let descr = array.dtype();
        let kind = match (descr.kind(), descr.itemsize()) {
            (b'b', _) => Some(Kind::Bool),
            (b'i', 1) => Some(Kind::I8),
            (b'i', 2) => Some(Kind::I16),
            (b'i', 4) => Some(Kind::I32),
            (b'i', 8) => Some(Kind::I64),
            (b'u', 1) => Some(Kind::U8),
            (b'u', 2) => Some(Kind::U16),
            (b'u', 4) => Some(Kind::U32),
            (b'u', 8) => Some(Kind::U64),
            (b'f', 4) => Some(Kind::F32),
            (b'f', 8) => Some(Kind::F64),
            _ => None,
        };
        let Some(kind) = kind.filter(|_| descr.is_native_byteorder() != Some(false)) else {
            let message =
                format!("{name} must contain booleans, integers, float32 or float64, got dtype {descr}");
            return Err(PyTypeError::new_err(message));
        };
        let (shape, strides) = (array.shape(), array.strides());
        // SAFETY: the array is alive, and this reads a field of its header.
        #[allow(unsafe_code)]
        let data = unsafe { (*array.as_array_ptr()).fields.data };
        Ok(Self {
            data: data.cast_const().cast(),
            rows: shape[0],
            columns: if dimensions == 2 { shape[1] } else { 1 },
            row_stride: strides[0],
            column_stride: if dimensions == 2 { strides[1] } else { 8 },
            kind,
        })
    }

    /// Prefetch rows that will be read soon, if the values of their rows or columns are contiguous.
    fn expect(&self, start: usize, rows: usize) {
        let first = self.data.wrapping_offset(start as isize * self.row_stride);
        let (row, columns) = (self.row_stride.unsigned_abs(), self.columns);
        if row == columns * self.column_stride.unsigned_abs() {
            prefetch(first, rows * row);
        } else if row == size_of::<f64>() {
            for column in 0..columns {
                prefetch(first.wrapping_offset(column as isize * self.column_stride), rows * row);
            }
        }
    }

    /// Copy rows into the columns of a strip, from column `to` on.
    fn read(&self, start: usize, rows: usize, strip: &mut Strip, to: usize) {
        let double = size_of::<f64>() as isize;
        match self.kind {
            Kind::F64 if self.row_stride == double => {
                for column in 0..self.columns {
                    self.copy(start, column, &mut strip.column_mut(to + column)[..rows]);
                }
            }
            Kind::F64 if self.column_stride == double && self.columns > 1 && to == 0 => {
                self.transpose(start, rows, strip);
            }
            Kind::Bool | Kind::U8 => self.gather::<u8>(start, rows, strip, to, f64::from),
            Kind::I8 => self.gather::<i8>(start, rows, strip, to, f64::from),
            Kind::I16 => self.gather::<i16>(start, rows, strip, to, f64::from),
            Kind::I32 => self.gather::<i32>(start, rows, strip, to, f64::from),
            Kind::I64 => self.gather::<i64>(start, rows, strip, to, |value| value as f64),
            Kind::U16 => self.gather::<u16>(start, rows, strip, to, f64::from),
            Kind::U32 => self.gather::<u32>(start, rows, strip, to, f64::from),
            Kind::U64 => self.gather::<u64>(start, rows, strip, to, |value| value as f64),
            Kind::F32 => self.gather::<f32>(start, rows, strip, to, f64::from),
            Kind::F64 => self.gather::<f64>(start, rows, strip, to, |value| value),
        }
    }

    /// The address of a value.
    fn place(&self, row: usize, column: usize) -> *const u8 {
        debug_assert!(row < self.rows && column < self.columns);
        self.data.wrapping_offset(row as isize * self.row_stride + column as isize * self.column_stride)
    }

    /// Copy contiguous doubles.
    #[allow(unsafe_code)]
    fn copy(&self, row: usize, column: usize, out: &mut [f64]) {
        // SAFETY: the caller asks for contiguous values inside the array, and the array outlives the call. Another thread
        // of Python may write to the array at the same time, as with any NumPy function that releases the lock; bytes are
        // copied once, and only the copy is used.
        unsafe {
            std::ptr::copy_nonoverlapping(self.place(row, column), out.as_mut_ptr().cast(), size_of_val(out));
        };
    }

    /// Copy rows of contiguous doubles.
    #[allow(unsafe_code)]
    fn transpose(&self, start: usize, rows: usize, strip: &mut Strip) {
        // SAFETY: as in `copy`, for that many rows of the array.
        unsafe { transpose(self.place(start, 0), self.row_stride, rows, self.columns, strip) };
    }

    /// Copy values of any stride, one by one.
    #[allow(unsafe_code)]
    fn gather<T: Copy>(
        &self,
        start: usize,
        rows: usize,
        strip: &mut Strip,
        to: usize,
        convert: impl Fn(T) -> f64,
    ) {
        for column in 0..self.columns {
            for (row, out) in strip.column_mut(to + column)[..rows].iter_mut().enumerate() {
                // SAFETY: as in `copy`, for one value, which need not be aligned.
                *out = convert(unsafe { self.place(start + row, column).cast::<T>().read_unaligned() });
            }
        }
    }
}

/// The rows of `x` and, if there is one, `y`.
#[derive(Debug)]
pub(crate) struct Arrays {
    /// One array with all columns, or one array for each.
    x: Vec<View>,
    y: Option<View>,
    /// References that keep the arrays alive, even if another thread changes the list.
    #[allow(dead_code)] // holding them is enough
    kept: Vec<Py<PyUntypedArray>>,
}

impl Arrays {
    /// View the rows of two arrays, or of a list with one array for each column and an array for y.
    pub(crate) fn new(x: &Bound<'_, PyAny>, y: &Bound<'_, PyUntypedArray>) -> PyResult<Self> {
        let target = View::new(y, "y", 1)?;
        let mut arrays = Self::without_target(x)?;
        if arrays.x.iter().any(|x| x.rows != target.rows) {
            // The two lengths are not public.
            let (allowed, got) = ("as long as X".into(), "another length".into());
            return Err(raise(&Error::Parameter { name: "y", allowed, got }));
        }
        arrays.y = Some(target);
        arrays.kept.push(y.clone().unbind());
        Ok(arrays)
    }

    /// View the rows of an array, or of a list with one array for each column.
    pub(crate) fn without_target(x: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (views, arrays) = if let Ok(table) = x.cast::<PyUntypedArray>() {
            (vec![View::new(table, "X", 2)?], vec![table.clone()])
        } else {
            let arrays: Vec<Bound<'_, PyUntypedArray>> = x.extract()?;
            let views = arrays.iter().map(|array| View::new(array, "a column of X", 1));
            (views.collect::<PyResult<Vec<_>>>()?, arrays)
        };
        if views.iter().any(|x| x.rows != views[0].rows) {
            let (allowed, got) = ("columns of the same length".into(), "others".into());
            return Err(raise(&Error::Parameter { name: "X", allowed, got }));
        }
        let kept = arrays.into_iter().map(Bound::unbind).collect();
        Ok(Self { x: views, y: None, kept })
    }
}

impl Source for Arrays {
    fn rows(&self) -> usize {
        self.y.as_ref().or(self.x.first()).map_or(0, |view| view.rows)
    }

    fn columns(&self) -> usize {
        self.x.iter().chain(&self.y).map(|view| view.columns).sum()
    }

    fn columnar(&self) -> bool {
        self.x.iter().all(|x| x.row_stride.unsigned_abs() < x.column_stride.unsigned_abs() || x.columns == 1)
    }

    fn expect(&self, start: usize, rows: usize) {
        self.x.iter().chain(&self.y).for_each(|view| view.expect(start, rows));
    }

    fn read(&self, start: usize, rows: usize, out: &mut Strip) {
        let mut to = 0;
        for view in self.x.iter().chain(&self.y) {
            view.read(start, rows, out, to);
            to += view.columns;
        }
    }
}
