/**
 * Runs a check of an entry. A member may have any form, such as a text in place of a list, or an invalid time. The
 * service writes no such entry, so a check that throws for this reason is a fault of the entry.
 * @template Result
 * @param {() => Result} check
 * @param {(fault: string) => Result} onFault
 * @returns {Result}
 */
export function withAnyForm(check, onFault) {
  try {
    return check();
  } catch (error) {
    return onFault(malformedFault(error));
  }
}

/**
 * Returns the fault of an entry whose check has thrown this error for its form.
 * @param {unknown} error
 * @returns {string}
 * @throws the error, if a form does not explain it
 */
export function malformedFault(error) {
  if (!(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)) throw error;
  return `it has another form than the service writes: ${error.message}`;
}
