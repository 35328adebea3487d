"""The paper's experiments, reproduced and extended."""
