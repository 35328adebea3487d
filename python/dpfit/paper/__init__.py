"""The paper's estimators, on exact integer statistics.

S. Tang et al., *Improved Differentially Private Regression via Gradient Boosting*.
"""

from dpfit.paper.adassp import AdaSSP, BoostedAdaSSP
from dpfit.paper.gradient_descent import DPGradientDescent
from dpfit.paper.mean import BoostedMean
from dpfit.paper.tukey_em import TukeyEM

__all__ = ["AdaSSP", "BoostedAdaSSP", "BoostedMean", "DPGradientDescent", "TukeyEM"]
