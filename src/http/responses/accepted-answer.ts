/** Thrown in place of an answer: the request was accepted, and something else has to happen before it takes effect. */
export class AcceptedAnswer extends Error {
  constructor(
    readonly location: string,
    readonly body: object,
  ) {
    super('The request was accepted, and takes effect later.');
    this.name = 'AcceptedAnswer';
  }
}
