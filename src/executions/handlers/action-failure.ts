const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;

/**
 * Thrown by an action handler to fail the execution with a reason the caller may read. The message becomes part of the
 * permanent record, so it should be a sentence without secrets. Any other error is logged, and reported with a neutral
 * sentence.
 */
export class ActionFailure extends Error {
  /** @param code for machines, such as `MAILBOX_FULL`: recorded in the audit entry of the execution's end. */
  constructor(
    message: string,
    readonly code: string | null = null,
  ) {
    super(message);
    this.name = 'ActionFailure';
    if (code !== null && !CODE.test(code))
      throw new Error(`The code ${code} of an ActionFailure must match ${CODE.source}.`);
  }
}
