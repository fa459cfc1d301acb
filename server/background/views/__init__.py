"""Filing and gathering of page views, beside the workers that take them."""
