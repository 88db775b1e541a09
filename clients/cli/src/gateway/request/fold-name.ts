/** A name in the form in which names are compared that a program could take for the same one. */
export function foldName(name: string): string {
  // A letter's lower case may have another compatible form.
  return name.normalize('NFKC').toLowerCase().normalize('NFKC');
}
