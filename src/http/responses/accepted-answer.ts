/** Thrown in place of a response if the request was accepted but something else must happen before it takes effect. */
export class AcceptedAnswer extends Error {
  constructor(
    readonly location: string,
    readonly body: object,
  ) {
    super('The request was accepted, and takes effect later.');
    this.name = 'AcceptedAnswer';
  }
}
