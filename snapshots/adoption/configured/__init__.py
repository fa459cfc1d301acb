"""Read values out of the configurations of sites, which are data or programs."""
