import type { JSX } from 'preact';
import { serviceNow } from '../../api/clock.js';
import type { Oversight } from '../../api/types.js';
import { go } from '../../app/router.js';
import { Options } from '../../ui/options.js';
import { PERIODS } from '../../ui/periods.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The period as the page's address names it: a period of one's own ends with its last day, which is part of it. */
export type Chosen =
  | { readonly last: '24h' | '30d' }
  | { readonly last: 'own'; readonly from: string; readonly to: string };

/** The parameters of the report. */
export interface ReportPeriod {
  readonly from: string;
  readonly to?: string;
  readonly bucket: 'hour' | 'day' | 'week';
}

export function chosenIn(query: URLSearchParams): Chosen {
  const [from, to] = [query.get('from'), query.get('to')];
  if (from !== null && to !== null) return { last: 'own', from, to };
  return { last: query.get('last') === '24h' ? '24h' : '30d' };
}

/** Returns the parameters of the report, in whole hours and days of UTC, as the service counts them. */
export function reportPeriod(chosen: Chosen, now: number): ReportPeriod {
  if (chosen.last !== 'own') {
    const [length, buckets, bucket] =
      chosen.last === '24h' ? ([HOUR, 24, 'hour'] as const) : ([DAY, 30, 'day'] as const);
    return { from: new Date(floorTime(now, length) - (buckets - 1) * length).toISOString(), bucket };
  }
  const { from, to } = chosen;
  const end = Date.parse(to) + DAY;
  const days = (end - Date.parse(from)) / DAY;
  const bucket = days <= 3 ? 'hour' : days <= 400 ? 'day' : 'week';
  return { from, to: Number.isNaN(end) ? to : new Date(end).toISOString(), bucket };
}

/** Returns the query of the list of activity for a part of a period; in that query, the end is included. */
export function within({ from, to }: Pick<Oversight, 'from' | 'to'>): string {
  return `from=${from}&to=${new Date(Date.parse(to) - 1).toISOString()}`;
}

export function PeriodForm({ chosen }: { readonly chosen: Chosen }): JSX.Element {
  const now = serviceNow();
  const own =
    chosen.last === 'own'
      ? chosen
      : { from: dateText(floorTime(now, DAY) - 6 * DAY), to: dateText(floorTime(now, DAY)) };
  const show = (query: string): void => go(`overview${query}`, 'replace');
  const showOwn = (from: string, to: string): void => {
    if (from !== '' && to !== '') show(`?from=${from}&to=${to}`);
  };
  return (
    <form class="period buttons" aria-label="Period" onSubmit={(event) => event.preventDefault()}>
      <label class="inline">
        Period{' '}
        <select
          value={chosen.last}
          onChange={({ currentTarget: { value } }) =>
            value === 'own' ? showOwn(own.from, own.to) : show(value === '24h' ? '?last=24h' : '')
          }
        >
          <Options choices={PERIODS} />
        </select>
      </label>
      {chosen.last === 'own' ? (
        <>
          <label class="inline">
            First day{' '}
            <input type="date" value={own.from} onChange={(event) => showOwn(event.currentTarget.value, own.to)} />
          </label>
          <label class="inline">
            Last day{' '}
            <input type="date" value={own.to} onChange={(event) => showOwn(own.from, event.currentTarget.value)} />
          </label>
        </>
      ) : null}
      <button type="button" onClick={() => print()}>
        Print
      </button>
    </form>
  );
}

function dateText(moment: number): string {
  return new Date(moment).toISOString().slice(0, 'YYYY-MM-DD'.length);
}

function floorTime(moment: number, length: number): number {
  return Math.floor(moment / length) * length;
}
