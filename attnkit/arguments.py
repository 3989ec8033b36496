"""How a decorator finds the arrays among a function's arguments; used by both back ends."""

import functools
import inspect


def converting(names, around):
    """Make a decorator that hands the named arguments to `around` before the function runs.

    The decorated function keeps its name, signature, docstring and source; a call that lacks an
    argument fails as it would without the decorator.

    Parameters
    ----------
    names : tuple of str
        The parameters to convert; one whose default is None is left out when it is None.
    around : callable
        ``around(arrays, call)`` gets a mapping from name to what came, and returns what the caller
        gets; ``call(converted)`` runs the function on a mapping with the same names.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> doubled = converting(("x",), lambda arrays, call: call({"x": 2 * arrays["x"]}))
    >>> doubled(lambda x, power=1: x**power)(3, power=2)
    36
    """

    def decorate(function):
        parameters = inspect.signature(function).parameters
        places = {name: place for place, name in enumerate(parameters)}
        optional = {name for name in names if parameters[name].default is None}
        required = set(names) - optional

        @functools.wraps(function)
        def wrapper(*arguments, **keywords):
            arrays = {
                name: arguments[places[name]] for name in names if places[name] < len(arguments)
            }
            arrays |= {name: keywords[name] for name in names if name in keywords}
            arrays = {
                name: array
                for name, array in arrays.items()
                if array is not None or name in required
            }
            if not required <= arrays.keys():
                return function(*arguments, **keywords)  # raises Python's own "missing argument"

            def call(converted):
                positional = list(arguments)
                for name, array in converted.items():
                    if name not in keywords:
                        positional[places[name]] = array
                return function(
                    *positional, **keywords | {k: v for k, v in converted.items() if k in keywords}
                )

            return around(arrays, call)

        return wrapper

    return decorate
