/**
 * A tag of a module in the API document, with a sentence on what it is for. Provided as a value; it comes after those of the
 * service.
 */
export class ApiTag {
  constructor(
    readonly name: string,
    readonly description: string,
  ) {}
}
