# %% [markdown]
# # A hospital's stays
#
# A hospital wants to publish how the length of a stay depends on age, ward and the kind of admission. Patients come
# back, so a patient has several rows, and the *patient* must be protected, not the stay. This project goes from the
# table to a figure, a statement for the data-protection officer, and a ledger for the next analysis.
#
# **The data are simulated** in the first cell: 60,000 patients with 150,000 stays. All other cells are what you would
# run on your own table. [Download the notebook](hospital.ipynb).

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(2024)
patients = pd.DataFrame(
    {"age": rng.integers(18, 96, 60_000), "visits": rng.geometric(0.4, 60_000).clip(max=12)}
)
stays = patients.loc[patients.index.repeat(patients.visits), ["age"]]
stays = stays.rename_axis("patient").reset_index()
n = len(stays)
stays["ward"] = rng.choice(["surgery", "heart", "lungs", "other"], n, p=[0.35, 0.25, 0.15, 0.25])
stays["emergency"] = rng.random(n) < 0.3


def expected_days(age):
    return 2.0 + 0.004 * np.maximum(age - 50, 0) ** 1.8


ward_days = stays.ward.map({"surgery": 1.0, "heart": 3.0, "lungs": 2.0, "other": 0.0})
mean = expected_days(stays.age) + ward_days + 1.5 * stays.emergency
stays["days"] = rng.gamma(2.0, mean / 2.0).clip(0.1, 90).round(1)
print(len(stays), "stays of", stays.patient.nunique(), "patients")

# %% [markdown]
# ## What is public
#
# The wards are on the hospital's web site, and the ages that are treated here are known. No stay is longer than 90
# days, because longer ones are transferred: a rule of the house, not a look at the table.

# %%
from dpfit import Categorical, Ledger, Numeric, PrivateAdditiveRegression, Schema

schema = Schema(
    {"ward": Categorical(["other", "surgery", "heart", "lungs"]), "age": Numeric(18, 100)},
    target=Numeric(0, 90),
)

# %% [markdown]
# ## A budget for the patients
#
# The data-protection officer allows ε = 2 for everything that is published about these stays. The ledger holds that
# budget. It protects patients, and it refuses fits that name no patient.

# %%
ledger = Ledger.create(
    "stays.dpl", epsilon=2.0, dataset="stays 2024", unit="patient", rows_per_unit=None
)

# %% [markdown]
# ## Fit
#
# At most three stays of a patient are used. That is a choice: it was made from what is generally known about
# hospitals, before the table was opened. A larger number would keep more rows, with more noise for everyone.
#
# One patient in five is set aside for a test of the model. The split is by patient, so no patient is in both parts.

# %%
test = stays.patient % 5 == 0
model = PrivateAdditiveRegression(epsilon=1.0, schema=schema, max_rows=3, ledger=ledger)
model.fit(stays[~test], "days", unit="patient")
print(model.summary())

# %% [markdown]
# ## Figure
#
# Each curve is the number of days that a column adds, with a 95 % confidence band that includes the privacy noise. As
# the data are simulated, the true curve can be drawn as well (dotted). You could not do that with real data.

# %%
# Figure: Fitted curves of age, ward and emergency with confidence bands; the true curve of age is close to the fitted one
figure = model.plot_curves()
ages, _ = model.curve("age")
truth = expected_days(ages)
fitted = np.interp(stays.age, ages, truth)
figure.axes[0].plot(ages, truth - fitted.mean(), ":", color="black")

# %% [markdown]
# ## How good is it?
#
# The test patients are private, too. `evaluate` measures the model on them with a budget of their own. No patient is in
# both parts, but the ledger does not know that, and charges the sum. The interval is too wide to be useful here: at most
# three rows of each of 12,000 patients, with three times the noise. A larger share of the patients, or of the budget,
# would be needed for the test.

# %%
found = model.evaluate(stays[test], "days", epsilon=1.0, unit="patient", max_rows=3, ledger=ledger)
low, high = found.r2.interval(0.95)
print(f"R² = {found.r2.value:.2f}, 95 % interval {low:.2f} to {high:.2f}")

# %% [markdown]
# ## Sign-off
#
# The statement goes to the data-protection officer, with the certificate for the archive. It says *each patient*,
# because the fit had a unit.

# %%
import textwrap

model.save("stays.json")
print(textwrap.fill(model.privacy_.statement().split("\n")[0], 100))

# %% [markdown]
# ## What is left
#
# The next analysis of these stays has to do with the rest. A fit that wants more is refused before it reads a row.

# %%
from dpfit import BudgetExceeded

left = ledger.remaining()
print(f"left: epsilon {left.epsilon:.2f} of 2")
try:
    model.set_params(epsilon=1.8).fit(stays, "days", unit="patient")
except BudgetExceeded as error:
    print(error.message.split(",")[0])
