import { InvalidArgumentError } from 'commander';

const SPAN = /^P(?!$)(?:(\d{1,4})W)?(?:(\d{1,4})D)?(?:T(?!$)(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,7})S)?)?$/;
const SECONDS = [604_800, 86_400, 3_600, 60, 1];

/** A duration in weeks, days, hours, minutes and seconds as ISO 8601 writes it (`P7D`, `PT12H`), in milliseconds. */
export function timeSpan(text: string): number {
  const match = SPAN.exec(text);
  if (match === null) throw new InvalidArgumentError('Expected a duration such as P7D or PT12H.');
  const parts: readonly (string | undefined)[] = match.slice(1);
  return parts.reduce((sum, part, index) => sum + Number(part ?? 0) * (SECONDS[index] ?? 0) * 1000, 0);
}

/** Returns a time as ISO 8601. @param text a time with a zone, or a duration from now */
export function timeAhead(text: string): string {
  if (text.startsWith('P')) return new Date(Date.now() + timeSpan(text)).toISOString();
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('Expected a time with a zone, or a duration such as P7D.');
  return time.toISOString();
}
