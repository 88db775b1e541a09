/**
 * A module's tag in the API document, with a sentence about its purpose. Provided as a value; it follows those of the
 * service.
 */
export class ApiTag {
  constructor(
    readonly name: string,
    readonly description: string,
  ) {}
}
