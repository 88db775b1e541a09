import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLoad, useReloads } from '../../api/load.js';
import { useSession } from '../../api/session.js';
import type { Oversight } from '../../api/types.js';
import { useQuery } from '../../app/router.js';
import { countText, numberText, showInvisible, utcTime, words } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Panel, When } from '../../ui/parts.js';
import { PolicyName } from '../../ui/policy-name.js';
import { useCreationHere } from '../inbox/creation.js';
import { Welcome } from '../inbox/welcome.js';
import { Attention } from './attention.js';
import { Requests } from './chart.js';
import { look } from './overview-data.js';
import { chosenIn, PeriodForm, within } from './period.js';
import { Removal } from './removal.js';
import { Serves } from './serves.js';
import { secondsText, Table } from './tables.js';

const EVERY = 60_000;

/** Summarises all activity of a period. */
export function Overview(): JSX.Element {
  const session = useSession();
  const chosen = chosenIn(useQuery());
  const creation = useCreationHere();
  const overviewLoad = useLoad(
    (signal) => look(session, chosen, signal),
    [session, JSON.stringify(chosen)],
    // The overview is loaded again once the demo company exists.
    creation.part === null,
  );
  useReloads(overviewLoad, EVERY);
  useEffect(() => {
    addEventListener('beforeprint', unfold);
    return () => removeEventListener('beforeprint', unfold);
  }, []);
  return (
    <>
      <header class="screen-head">
        <h1>Overview</h1>
        <PeriodForm chosen={chosen} />
      </header>
      <When load={overviewLoad} label="the report">
        {(data) => (
          <div class="decision overview">
            <p class="quiet">
              {utcTime(data.report.from)} to {utcTime(data.report.to)}, from {location.host}
            </p>
            {data.report.chain.size === 0 || creation.part !== null || creation.error !== null ? (
              <Welcome creation={creation} />
            ) : null}
            <Attention data={data} />
            <UnusedPolicies report={data.report} reload={overviewLoad.reload} />
            <Requests report={data.report} />
            <Refusals report={data.report} />
            <Approvals report={data.report} />
            <Changes report={data.report} />
            <Agents report={data.report} />
            <Policies report={data.report} />
            <Evidence report={data.report} />
          </div>
        )}
      </When>
    </>
  );
}

/** Unfolds all parts before printing, since folded parts would be missing on paper. */
function unfold(): void {
  for (const details of document.querySelectorAll('details')) details.open = true;
}

interface Part {
  readonly report: Oversight;
}

/** The policies that decided nothing: permissions that nobody uses, or denials that nobody met. */
function UnusedPolicies({ report: { unused }, reload }: Part & { readonly reload: () => void }): JSX.Element | null {
  const { has } = useSession();
  const mayRemove = has('policies');
  if (unused.length === 0) return null;
  return (
    <Panel title="Policies that decided nothing" aside={<Serves as="policies" />}>
      <Table
        label="Policies in force that decided nothing"
        columns={['In force', ...(mayRemove ? ['Removal'] : [])]}
        rows={unused.map((policy) => ({
          key: policy.id,
          name: <PolicyName policy={policy} />,
          numbers: mayRemove ? [<Removal key={policy.id} policy={policy} onDone={reload} />] : [],
        }))}
      />
    </Panel>
  );
}

function Refusals({ report }: Part): JSX.Element {
  return (
    <Panel title="Refused, and why" aside={<Serves as="reasons" />}>
      {report.reasons.length === 0 ? (
        <p class="quiet">Nothing was refused.</p>
      ) : (
        <Table
          label="Reasons of refusals"
          columns={['Reason', 'Refusals']}
          rows={report.reasons.map(({ reason, count }) => ({ key: reason, name: words(reason), numbers: [count] }))}
          bars
        />
      )}
      <Link to={`activity?action=execution.denied&${within(report)}`}>Each refusal</Link>
    </Panel>
  );
}

function Approvals({ report }: Part): JSX.Element {
  const { proposed, approved, rejected, expired, cancelled, byReviewer, ...times } = report.approvals;
  const waiting = proposed - approved - rejected - expired - cancelled;
  const ends = Object.entries({ approved, rejected, expired, cancelled, waiting });
  const timeText = (seconds: number | null): string => (seconds === null ? '–' : secondsText(seconds));
  return (
    <Panel title="Approvals, and who gave them" aside={<Serves as="approvals" />}>
      <div class="tiles">
        <Tile name="Proposed">{numberText(proposed)}</Tile>
        <Tile name="Median until settled">{timeText(times.medianSeconds)}</Tile>
        <Tile name="95% settled within">{timeText(times.p95Seconds)}</Tile>
        <Tile name="Settled within ten seconds">{numberText(times.withinTenSeconds)}</Tile>
      </div>
      <Table
        label="What became of decisions"
        columns={['Decisions', 'How many']}
        rows={ends.map(([name, count]) => ({ key: name, name, numbers: [count] }))}
        bars
      />
      {byReviewer.length === 0 ? null : (
        <Table
          label="Verdicts by reviewer"
          columns={['Reviewer', 'Approved', 'Rejected', 'Within ten seconds']}
          rows={byReviewer.map((reviewer) => ({
            key: reviewer.agentId ?? '',
            name:
              reviewer.agentId === null ? (
                'keys without a name'
              ) : (
                <Link
                  to={`activity?agentId=${encodeURIComponent(reviewer.name ?? reviewer.agentId)}&${within(report)}`}
                >
                  {showInvisible(reviewer.name ?? reviewer.agentId)}
                </Link>
              ),
            numbers: [reviewer.approved, reviewer.rejected, reviewer.withinTenSeconds],
          }))}
          bars
        />
      )}
      <Link to={`activity?action=decision.proposed&${within(report)}`}>Each decision</Link>
    </Panel>
  );
}

/** Changes of the rules; nothing as long as there are none. */
function Changes({ report: { changes, ...period } }: Part): JSX.Element | null {
  const { proposed, approved, rejected, made, breakGlass, unreviewed } = changes;
  if (proposed + approved + rejected + made + breakGlass + unreviewed === 0) return null;
  const counts = { Proposed: proposed, Approved: approved, Rejected: rejected, Made: made };
  return (
    <Panel title="Changes that need a second person" aside={<Serves as="changes" />}>
      <div class="tiles">
        {Object.entries(counts).map(([name, count]) => (
          <Tile key={name} name={name}>
            {numberText(count)}
          </Tile>
        ))}
        <Tile name="Made in an emergency">{numberText(breakGlass)}</Tile>
        <Tile name="Emergencies not reviewed">{numberText(unreviewed)}</Tile>
      </div>
      <Link to={`activity?action=decision.change_made&${within(period)}`}>Each change</Link>
    </Panel>
  );
}

function Agents({ report }: Part): JSX.Element {
  return (
    <Panel title="Agents" aside={<Serves as="agents" />}>
      {report.agents.length === 0 ? (
        <p class="quiet">No agent requested anything.</p>
      ) : (
        <Table
          label="Requests by agent"
          columns={['Agent', 'Allowed', 'Asked for approval', 'Denied']}
          rows={report.agents.map(({ agentId, name, allowed, denied, approvals }) => ({
            key: agentId,
            name: (
              <Link to={`activity?agentId=${encodeURIComponent(name)}&${within(report)}`}>{showInvisible(name)}</Link>
            ),
            numbers: [allowed, approvals, denied],
          }))}
          bars
        />
      )}
    </Panel>
  );
}

function Policies({ report: { policies } }: Part): JSX.Element {
  return (
    <Panel title="Policies" aside={<Serves as="policies" />}>
      {policies.length === 0 ? (
        <p class="quiet">No policy decided anything.</p>
      ) : (
        <Table
          label="Policies that decided"
          columns={['Policy', 'Decided']}
          rows={policies.map(({ policy, decided }) => ({
            key: policy.id,
            name: <PolicyName policy={policy} />,
            numbers: [decided],
          }))}
          bars
        />
      )}
    </Panel>
  );
}

function Evidence({ report }: Part): JSX.Element {
  const { stops, erasures, grants, chain } = report;
  return (
    <Panel title="Evidence" aside={<Serves as="chain" />}>
      <div class="tiles">
        <Tile name="Stops made" serves="stops">
          <Link to={`activity?action=stop.created&${within(report)}`}>{numberText(stops)}</Link>
        </Tile>
        <Tile name="Erasures" serves="erasures">
          <Link to={`activity?action=erasure.begun&${within(report)}`}>{numberText(erasures)}</Link>
        </Tile>
        <Tile name="Grants given, and used" serves="grants">
          <Link to={`activity?action=grant.created&${within(report)}`}>{numberText(grants.minted)}</Link>,{' '}
          <Link to="grants">{numberText(grants.used)}</Link>
        </Tile>
        <Tile name="Entries of the ledger" serves="chain">
          <Link to="proof">{numberText(chain.size)}</Link>
        </Tile>
      </div>
      <p>
        Everything here can be computed again from an export of {countText(chain.size, 'entry', 'entries')}, which this
        checkpoint seals:
      </p>
      <pre class="hash">{chain.checkpoint.trim()}</pre>
    </Panel>
  );
}

interface TileProps {
  readonly name: string;
  readonly serves?: Parameters<typeof Serves>[0]['as'];
  readonly children: ComponentChildren;
}

function Tile({ name, serves, children }: TileProps): JSX.Element {
  return (
    <div class="tile">
      <span>{name}</span>
      <strong>{children}</strong>
      {serves === undefined ? null : <Serves as={serves} />}
    </div>
  );
}
