import type { JSX } from 'preact';
import type { Oversight } from '../../api/types.js';
import { numberText, utcTime } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Panel } from '../../ui/parts.js';
import { within } from './period.js';
import { Serves } from './serves.js';
import { Table } from './tables.js';

type Bucket = Oversight['requests'][number];

const WIDTH = 720;
const HEIGHT = 160;
/** The parts of a bar, from its bottom to its top. */
const LAYERS = [
  ['allowed', 'allowed'],
  ['approval_requested', 'needed approval'],
  ['denied', 'denied'],
] as const;
const COLUMNS = ['From, UTC', 'Allowed', 'Asked for approval', 'Denied', 'Executed', 'Failed', 'Observed'];

/** The requests of each bucket: as a bar with a part for each answer, and as a table. */
export function Requests({ report: { requests, to } }: { readonly report: Oversight }): JSX.Element {
  const sums = LAYERS.map(([key, text]) => `${numberText(sumOf(requests, key))} ${text}`).join(', ');
  const endOf = (index: number): string => requests[index + 1]?.start ?? to;
  return (
    <Panel title="Requests" aside={<Serves as="requests" />}>
      <p class="facts">
        {LAYERS.map(([key, text]) => (
          <span key={key}>
            <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
              <rect class={`bar ${key}`} width="10" height="10" />
            </svg>{' '}
            {numberText(sumOf(requests, key))} {text}
          </span>
        ))}
      </p>
      <Bars requests={requests} label={`Requests over time: ${sums}.`} />
      <details>
        <summary>As a table</summary>
        <Table
          label="Requests over time"
          columns={COLUMNS}
          rows={requests.map((bucket, index) => ({
            key: bucket.start,
            name: (
              <Link to={`activity?${within({ from: bucket.start, to: endOf(index) })}`}>{shortUtc(bucket.start)}</Link>
            ),
            numbers: [
              bucket.allowed,
              bucket.approval_requested,
              bucket.denied,
              bucket.executed,
              bucket.failed,
              bucket.observed,
            ],
          }))}
        />
      </details>
    </Panel>
  );
}

function Bars({ requests, label }: { readonly requests: readonly Bucket[]; readonly label: string }): JSX.Element {
  const most = Math.max(1, ...requests.map((bucket) => LAYERS.reduce((sum, [key]) => sum + bucket[key], 0)));
  const step = WIDTH / Math.max(1, requests.length);
  const [first, last] = [requests[0], requests.at(-1)];
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        {requests.map((bucket, index) => {
          let top = HEIGHT;
          return LAYERS.map(([key]) => {
            const height = (bucket[key] / most) * HEIGHT;
            top -= height;
            return height === 0 ? null : (
              <rect
                key={`${bucket.start} ${key}`}
                class={`bar ${key}`}
                x={index * step + step * 0.1}
                y={top}
                width={step * 0.8}
                height={height}
              />
            );
          });
        })}
      </svg>
      {first === undefined || last === undefined ? null : (
        <figcaption class="quiet">
          <span>{shortUtc(first.start)}</span>
          <span>{numberText(most)} at most</span>
          <span>{shortUtc(last.start)} UTC</span>
        </figcaption>
      )}
    </figure>
  );
}

function shortUtc(iso: string): string {
  return utcTime(iso).slice(0, 'YYYY-MM-DD HH:MM'.length);
}

function sumOf(requests: readonly Bucket[], key: (typeof LAYERS)[number][0]): number {
  return requests.reduce((sum, bucket) => sum + bucket[key], 0);
}
