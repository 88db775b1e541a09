/** JSON that is written already: a response sends its text as it is. */
export class JsonText {
  constructor(readonly text: string) {}
}
