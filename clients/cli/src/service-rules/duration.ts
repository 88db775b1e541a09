const DATE_AND_TIME = /^P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;
const WEEKS = /^P(\d+)W$/;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const MIN_DURATION_MS = SECOND;
const MAX_DURATION_MS = 365 * DAY;

/**
 * Returns the milliseconds of an ISO 8601 duration: weeks alone (`P2W`), or days, hours, minutes and seconds
 * (`P1DT12H`). A day has 24 hours. Undefined for any other text, for less than a second, and for more than `longest`
 * (365 days by default).
 */
export function parseDuration(text: string, longest = MAX_DURATION_MS): number | undefined {
  const weeks = WEEKS.exec(text)?.[1];
  const milliseconds = weeks === undefined ? ofDateAndTime(text) : Number(weeks) * WEEK;
  return milliseconds >= MIN_DURATION_MS && milliseconds <= longest ? milliseconds : undefined;
}

/** Returns the fault of a duration; undefined if it is valid. */
export function durationFault(text: string): string | undefined {
  if (parseDuration(text) !== undefined) return undefined;
  return 'must be an ISO 8601 duration between one second and 365 days, such as "PT30M", "P1D", "P1DT12H" or "P2W"';
}

/** Returns the end, in ISO 8601, of a valid duration that begins at `start`. */
export function addDuration(duration: string, start: string): string {
  return new Date(Date.parse(start) + millisecondsOf(duration)).toISOString();
}

/** Returns the beginning, in ISO 8601, of a valid duration that ends at `end`. */
export function subtractDuration(duration: string, end: string): string {
  return new Date(Date.parse(end) - millisecondsOf(duration)).toISOString();
}

function millisecondsOf(duration: string): number {
  const milliseconds = parseDuration(duration);
  if (milliseconds === undefined) throw new Error(`"${duration}" is not a duration.`);
  return milliseconds;
}

/** Returns the milliseconds; zero if the text is not a duration. */
function ofDateAndTime(text: string): number {
  const [, days = '0', hours = '0', minutes = '0', seconds = '0'] = DATE_AND_TIME.exec(text) ?? [];
  return Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
}
