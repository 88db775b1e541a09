const DATE_AND_TIME = /^P(?=.)(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$/;
const WEEKS = /^P(\d+)W$/;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const SHORTEST = SECOND;
const LONGEST = 365 * DAY;

/**
 * Milliseconds of a duration after ISO 8601: weeks alone (`P2W`), or days, hours, minutes and seconds (`P1DT12H`). A day is
 * 24 hours. Undefined for any other text, and for what is not between a second and 365 days.
 */
export function parseDuration(text: string): number | undefined {
  const weeks = WEEKS.exec(text)?.[1];
  const milliseconds = weeks === undefined ? ofDateAndTime(text) : Number(weeks) * WEEK;
  return milliseconds >= SHORTEST && milliseconds <= LONGEST ? milliseconds : undefined;
}

/** What is right for a duration, as the message of a fault; undefined when it is one. */
export function durationFault(text: string): string | undefined {
  if (parseDuration(text) !== undefined) return undefined;
  return 'must be an ISO 8601 duration between a second and 365 days, such as "PT30M", "P1D", "P1DT12H" or "P2W"';
}

/** ISO 8601: the time that a valid duration after `start` ends. */
export function endOf(duration: string, start: string): string {
  const milliseconds = parseDuration(duration);
  if (milliseconds === undefined) throw new Error(`"${duration}" is not a duration.`);
  return new Date(Date.parse(start) + milliseconds).toISOString();
}

/** Zero where the text is not a duration. */
function ofDateAndTime(text: string): number {
  const [, days = '0', hours = '0', minutes = '0', seconds = '0'] = DATE_AND_TIME.exec(text) ?? [];
  return Number(days) * DAY + Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * SECOND;
}
