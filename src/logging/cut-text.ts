/** Marks the end of a text that was cut. It cannot occur in the path of a request, which is ASCII. */
export const CUT = '…';

/** The text, or its beginning and the mark if it is too long. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}${CUT}` : text;
}
