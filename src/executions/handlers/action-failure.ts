/**
 * Thrown by an action handler to fail the execution with a reason the caller may read. The message becomes part of the
 * record for ever, so it is a sentence without secrets. Any other error is logged and told in a neutral sentence.
 */
export class ActionFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ActionFailure';
  }
}
