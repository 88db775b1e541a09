import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { serviceNow } from '../api/clock.js';
import { agoText, durationText, localTime, shortTime, utcTime } from './format.js';

/** The current time, updated at the given interval in milliseconds. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** Shows how long ago it was; the local time and UTC are in its title. */
export function TimeAgo({ iso }: { readonly iso: string }): JSX.Element {
  useNow(15_000);
  return (
    <time dateTime={iso} title={`${localTime(iso)} · ${utcTime(iso)}`}>
      {agoText(iso, serviceNow())}
    </time>
  );
}

/** The local time; UTC is in its title. */
export function LocalTime({ iso }: { readonly iso: string }): JSX.Element {
  return (
    <time dateTime={iso} title={`${localTime(iso)} · ${utcTime(iso)}`}>
      {shortTime(iso)}
    </time>
  );
}

/** The time that is left until something ends. */
export function TimeLeft({ until }: { readonly until: string }): JSX.Element {
  useNow(5_000);
  const remainingMs = Date.parse(until) - serviceNow();
  return (
    <time
      dateTime={until}
      title={`until ${localTime(until)} · ${utcTime(until)}`}
      class={remainingMs < 600_000 ? 'urgent' : ''}
    >
      {remainingMs <= 0 ? 'time is up' : `${durationText(remainingMs)} left`}
    </time>
  );
}
