import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useLoad, useReloads } from '../../api/load.js';
import { type Session, useSession } from '../../api/session.js';
import { numberText } from '../../ui/format.js';
import { Badge, Panel, When } from '../../ui/parts.js';
import { metricsOf, type MetricsText } from './metrics.js';

const EVERY = 10_000;
const REQUESTS = 'http_request_duration_seconds';
const COMMITS = 'governance_ledger_commit_duration_seconds';

interface Look {
  readonly timeMs: number;
  readonly status: string;
  readonly pending: number | null;
  readonly counts: Readonly<Record<string, unknown>>;
  /** Null if the metrics have their own port. */
  readonly metrics: MetricsText | null;
}

/** The state of the service, refreshed every ten seconds. */
export function Health(): JSX.Element {
  const session = useSession();
  const look = useLoad((signal) => take(session, signal), [session]);
  const before = useRef<Look | null>(null);
  const last = useRef<Look | null>(null);
  if (look.data !== null && look.data !== last.current) {
    before.current = last.current;
    last.current = look.data;
  }
  useReloads(look, EVERY);
  return (
    <>
      <header class="screen-head">
        <h1>Health</h1>
      </header>
      <When load={look} label="the state of the service">
        {(data) => <View now={data} before={before.current} />}
      </When>
    </>
  );
}

async function take({ client, connection, has }: Session, signal: AbortSignal): Promise<Look> {
  const [{ status }, stats, pending, metrics] = await Promise.all([
    client.get('/api/v1/health', { signal }),
    client.get('/api/v1/stats', { signal }),
    has('read', 'review') ? client.get('/api/v1/decisions', { query: { status: 'proposed', limit: 1 }, signal }) : null,
    metricsOf(connection, signal),
  ]);
  return { timeMs: Date.now(), status, pending: pending?.total ?? null, counts: { ...stats }, metrics };
}

function View({ now, before }: { readonly now: Look; readonly before: Look | null }): JSX.Element {
  const { metrics, status, pending, counts } = now;
  return (
    <div class="decision">
      <Panel
        title="The service"
        aside={<Badge value={status === 'healthy' || status === 'ok' ? 'active' : status} text={status} />}
      >
        <div class="tiles">
          <Tile name="Pending decisions" value={pending === null ? 'needs read' : numberText(pending)} />
          {metrics === null ? null : (
            <>
              <Tile name="Requests a second" value={rateText(now, before)} />
              <Tile name="Median response time, at most" value={latencyText(metrics.quantile(REQUESTS, 0.5))} />
              <Tile name="95% of responses within" value={latencyText(metrics.quantile(REQUESTS, 0.95))} />
              <Tile name="Writes waiting" value={numberText(metrics.sum('governance_ledger_queue_commands'))} />
              <Tile name="95% of commits within" value={latencyText(metrics.quantile(COMMITS, 0.95))} />
              <Tile
                name="Server errors since start"
                value={numberText(
                  metrics.sum(`${REQUESTS}_count`, (labels) => (labels['status'] ?? '').startsWith('5')),
                )}
              />
            </>
          )}
        </div>
        {metrics === null ? (
          <p class="notice">
            Throughput and latency are not shown here: this service serves its metrics on a separate port.
          </p>
        ) : null}
      </Panel>
      <Panel title="Records">
        <div class="tiles">
          {Object.entries(counts).flatMap(([name, value]) =>
            typeof value === 'number' ? [<Tile key={name} name={KEPT[name] ?? name} value={numberText(value)} />] : [],
          )}
        </div>
      </Panel>
    </div>
  );
}

const KEPT: Readonly<Record<string, string>> = {
  entities: 'Entities',
  claims: 'Claims',
  agents: 'Agents',
  decisions: 'Decisions',
  policies: 'Policies',
  provenanceEntries: 'Ledger entries',
};

function Tile({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <div class="tile">
      <span>{name}</span>
      <strong>{value}</strong>
    </div>
  );
}

function rateText(now: Look, before: Look | null): string {
  const earlier = before?.metrics?.sum(`${REQUESTS}_count`);
  const latest = now.metrics?.sum(`${REQUESTS}_count`);
  // A restarted service counts from zero.
  if (before === null || earlier === undefined || latest === undefined || latest < earlier) return 'measuring …';
  return ((latest - earlier) / ((now.timeMs - before.timeMs) / 1_000)).toFixed(1);
}

function latencyText(seconds: number | null): string {
  if (seconds === null) return '–';
  if (!Number.isFinite(seconds)) return 'more than 10 s';
  return seconds < 1 ? `${numberText(seconds * 1_000)} ms` : `${numberText(seconds)} s`;
}
