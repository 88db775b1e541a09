export type Day = 'sun' | 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat';
export const DAYS: readonly Day[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** What a policy requires of the time of a request. A span over midnight belongs to the day on which it begins. */
export interface ClockCondition {
  /** The name of an IANA time zone. */
  readonly clock: string;
  /** Left out: every day. */
  readonly days?: readonly Day[] | null;
  readonly op: 'between';
  /** `HH:MM`; the second one is not included. */
  readonly value: readonly [string, string];
}

const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/;
/** A formatter takes much memory, so each zone has one, whatever the case in which it is written. */
const ZONES = new Map<string, Zone>();

/** The clock of a zone. It keeps its last reading, as many policies ask for the same time. */
class Zone {
  private reading = { at: '', day: 0, minute: 0 };

  constructor(private readonly format: Intl.DateTimeFormat) {}

  /** The day, as an index of `DAYS`, and the minute of the day. */
  timeAt(at: string): { readonly day: number; readonly minute: number } {
    if (this.reading.at === at) return this.reading;
    const parts = new Map(this.format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]));
    const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
    this.reading = { at, day: DAYS.findIndex((name) => name === parts.get('weekday')?.toLowerCase()), minute };
    return this.reading;
  }
}

export function isTimeOfDay(text: unknown): text is string {
  return typeof text === 'string' && TIME.test(text);
}

/** Minutes from midnight. */
function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/** An offset such as `+02:00` is not the name of a zone. */
export function isTimeZone(zone: string): boolean {
  return zoneOf(zone) !== null;
}

/** Whether the condition holds at a time; unknown if the zone is no longer known. */
export function clockTest({
  clock,
  days,
  value,
}: ClockCondition): (request: { readonly at: string }) => boolean | 'unknown' {
  const [start, end] = [minutesOf(value[0]), minutesOf(value[1])];
  const isOn = (day: number): boolean => days?.some((name) => name === DAYS[(day + DAYS.length) % DAYS.length]) ?? true;
  return ({ at }) => {
    const zone = zoneOf(clock);
    if (zone === null) return 'unknown';
    const { day, minute } = zone.timeAt(at);
    if (start < end) return start <= minute && minute < end && isOn(day);
    return (start <= minute && isOn(day)) || (minute < end && isOn(day - 1));
  };
}

function zoneOf(text: string): Zone | null {
  const name = text.toLowerCase();
  const known = ZONES.get(name);
  if (known !== undefined) return known;
  if (!/^[a-z]/.test(name)) return null;
  try {
    const options = { weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    const zone = new Zone(new Intl.DateTimeFormat('en-US', { ...options, timeZone: text }));
    ZONES.set(name, zone);
    return zone;
  } catch {
    return null;
  }
}
