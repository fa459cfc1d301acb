"""From a request to its answer: parse, bind, render, run, expand."""
