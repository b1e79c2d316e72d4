"""The bar on top of every page: STOP and the state, also where viser folds its panels."""
