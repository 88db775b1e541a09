/** Stands at the end of a text that was cut. No path of a request has it: those are ASCII. */
export const CUT = '…';

/** The text, or its beginning and the mark where it is longer. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}${CUT}` : text;
}
