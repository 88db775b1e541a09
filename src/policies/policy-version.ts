const DOTTED_LABEL = /^[0-9A-Za-z]+(?:[.+-][0-9A-Za-z]+)*$/;

/** What a policy's version has to be, or undefined if it is valid. */
export function versionFault(version: string): string | undefined {
  return DOTTED_LABEL.test(version)
    ? undefined
    : 'must be letters and digits, in parts joined by single ".", "+" or "-", such as 1.0 or 2.1.0-rc.1';
}
