/**
 * Runs a check of an entry. What it says may have any form, such as a text in place of a list, or a time that is none: then it is not what
 * the service writes, whatever the check would have found.
 * @template Result
 * @param {() => Result} check
 * @param {(fault: string) => Result} onFault
 * @returns {Result}
 */
export function withAnyForm(check, onFault) {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError)) throw error;
    return onFault(`it has another form than the service writes: ${error.message}`);
  }
}
