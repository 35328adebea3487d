# %% [markdown]
# # A wage survey
#
# A statistics office publishes how wages depend on sex, schooling, age and hours. The survey asked some groups more
# often than others, so each person has a weight. The result is a table for a report, with a pay gap and its confidence
# interval.
#
# **The data are simulated** in the first cell: 25,000 persons. [Download the notebook](wages.ipynb).

# %%
import numpy as np
import pandas as pd

rng = np.random.default_rng(11)
n = 25_000
city = rng.random(n) < 0.6  # cities were asked three times as often as they should have been
survey = pd.DataFrame(
    {
        "sex": rng.choice(["female", "male"], n),
        "schooling": rng.choice(["basic", "secondary", "university"], n, p=[0.2, 0.5, 0.3]),
        "age": rng.integers(18, 66, n),
        "hours": rng.uniform(10, 48, n).round(),
        "weight": np.where(city, 1.0, 3.0),
    }
)
log_wage = (
    2.4
    + 0.08 * (survey.sex == "male")
    + survey.schooling.map({"basic": 0.0, "secondary": 0.15, "university": 0.45})
    + 0.006 * (survey.age - 18)
    + 0.03 * survey.hours
    + 0.10 * city * (survey.schooling == "university")
    + rng.normal(0, 0.25, n)
)
survey["log_wage"] = log_wage  # of the monthly wage in hundreds
print(survey.head(3).round(2))

# %% [markdown]
# ## Fit
#
# Levels are those of the questionnaire; working age is 18 to 65 by definition of the survey. Weights are at most 3 by
# the sampling plan, which is public. The reference levels are the first ones, so the coefficient of `sex=male` is the
# difference to women.

# %%
from dpfit import Categorical, Numeric, PrivateLinearRegression, Schema

schema = Schema(
    {
        "sex": Categorical(["female", "male"]),
        "schooling": Categorical(["basic", "secondary", "university"]),
        "age": Numeric(18, 65),
    }
)
model = PrivateLinearRegression(epsilon=1.0, schema=schema, max_weight=3)
model.fit(survey, "log_wage", sample_weight="weight")
print(model.summary())

# %% [markdown]
# ## The pay gap
#
# Coefficients of a model of log wages are relative differences. The gap is `exp(coefficient) - 1`, and the ends of its
# interval are found in the same way.

# %%
gap = model.contrast({"sex=male": 1, "sex=female": -1})
low, high = np.expm1(gap.interval)
print(f"men earn {np.expm1(gap.estimate):.1%} more, 95 % interval {low:.1%} to {high:.1%}")
degree = model.contrast({"schooling=university": 1, "schooling=secondary": -1})
low, high = np.expm1(degree.interval)
print(f"a degree adds {np.expm1(degree.estimate):.1%}, 95 % interval {low:.1%} to {high:.1%}")

# %% [markdown]
# ## Figure
#
# The table as a picture, with intervals.

# %%
# Figure: Coefficients of the wage model with 95 % confidence intervals
axes = model.plot_coefficients()

# %% [markdown]
# ## Was it worth it?
#
# With simulated data, the private fit can be compared with weighted least squares on the same rows. With real data this
# comparison would not be private, and would not be made.

# %%
X = pd.get_dummies(survey[["sex", "schooling"]], drop_first=True).assign(
    age=survey.age, hours=survey.hours, one=1.0
)
X = X.to_numpy(float)
W = survey.weight.to_numpy()[:, None]
bread = np.linalg.inv(X.T @ (W * X))
exact = bread @ (X.T @ (survey.weight * survey.log_wage))
scores = X * (W[:, 0] * (survey.log_wage - X @ exact)).to_numpy()[:, None]
error = np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))

names = ["sex=male", "schooling=secondary", "schooling=university", "age", "hours"]
private = model.summary().to_frame().set_index("term").loc[names]
table = pd.DataFrame(
    {
        "least squares": exact[:5],
        "its error": error[:5],
        "private": private.estimate.astype(float).to_numpy(),
        "error": private.std_error.astype(float).to_numpy(),
    },
    index=names,
)
print(table.round(4).to_string())

# %% [markdown]
# ## Publish
#
# A table for the report, the statement for the officer, and the model for everybody.

# %%
with open("wages.tex", "w") as file:
    file.write(model.summary().to_latex())
with open("privacy.json", "w") as file:
    file.write(model.privacy_.to_json())
model.save("wages.json")
print(model.privacy_.protects, "is protected with epsilon =", model.privacy_.epsilon)
