import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { agoText, durationText, localTime, shortTime, utcTime } from './format.js';

/** The time, and again after so many milliseconds. */
export function useNow(every: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** How long ago; the reader's own time and UTC are in its title. */
export function Ago({ at }: { readonly at: string }): JSX.Element {
  const now = useNow(15_000);
  return (
    <time dateTime={at} title={`${localTime(at)} · ${utcTime(at)}`}>
      {agoText(at, now)}
    </time>
  );
}

/** The reader's own time; UTC is in its title. */
export function At({ at }: { readonly at: string }): JSX.Element {
  return (
    <time dateTime={at} title={`${localTime(at)} · ${utcTime(at)}`}>
      {shortTime(at)}
    </time>
  );
}

/** How long there is until something ends. */
export function Left({ until }: { readonly until: string }): JSX.Element {
  const now = useNow(5_000);
  const left = Date.parse(until) - now;
  return (
    <time
      dateTime={until}
      title={`until ${localTime(until)} · ${utcTime(until)}`}
      class={left < 600_000 ? 'urgent' : ''}
    >
      {left <= 0 ? 'time is up' : `${durationText(left)} left`}
    </time>
  );
}
