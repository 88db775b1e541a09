import type { ComponentChildren, JSX } from 'preact';
import { countText, listText, numberText, showInvisible, words } from '../../ui/format.js';
import { Link } from '../../ui/link.js';
import { Badge } from '../../ui/parts.js';
import { TimeAgo } from '../../ui/time.js';
import { isObserved } from '../agents/observed.js';
import { type Look, MAX_AGENTS } from './overview-data.js';
import { within } from './period.js';
import { Serves } from './serves.js';
import { secondsText } from './tables.js';

const NAMED = 3;

interface Matter {
  readonly key: Parameters<typeof Serves>[0]['as'];
  /** True if somebody should look at this matter; the other matters come after. */
  readonly isOpen: boolean;
  readonly badge: readonly [value: string, text: string];
  readonly sentence: string;
  readonly more?: ComponentChildren;
  /** The path of the matter's list. */
  readonly to: string;
}

/** The matters that a person should look at first. */
export function Attention({ data: look }: { readonly data: Look }): JSX.Element {
  const matters = mattersIn(look);
  const sorted = [...matters.filter(({ isOpen }) => isOpen), ...matters.filter(({ isOpen }) => !isOpen)];
  return (
    <section aria-label="First of all">
      <h2 class="list-head">First of all</h2>
      <ul class="rows">
        {sorted.map(({ key, isOpen, badge: [value, text], sentence, more, to }) => (
          <li key={key}>
            <Link to={to} class="row">
              <Badge value={isOpen ? value : 'plain'} text={text} />
              <span class="row-what">
                <strong>{sentence}</strong>
                <Serves as={key} />
              </span>
              <span class="row-state">{more}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function mattersIn({ report, waiting, agents, unreviewed: unreviewedAgents, stops }: Look): Matter[] {
  const { approvals, reasons, unused } = report;
  const { unreviewed } = report.changes;
  const [most] = reasons;
  const refusals = reasons.reduce((sum, { count }) => sum + count, 0);
  const [quickest] = [...approvals.byReviewer].sort((left, right) => right.withinTenSeconds - left.withinTenSeconds);
  const isQuick = quickest !== undefined && quickest.withinTenSeconds > 0;
  const observed = agents?.data.filter(({ observeUntil }) => isObserved(observeUntil)) ?? [];
  const [first] = observed;
  return [
    {
      key: 'waiting',
      badge: ['proposed', 'waiting'],
      to: 'inbox',
      isOpen: (waiting?.total ?? 0) > 0,
      sentence:
        waiting === null
          ? 'Seeing what waits needs read'
          : waiting.total === 0
            ? 'Nothing waits'
            : `${countText(waiting.total, 'decision waits', 'decisions wait')} for somebody`,
      more: waiting?.data.map(({ id, createdAt }) => (
        <span key={id}>
          the oldest was proposed <TimeAgo iso={createdAt} />
        </span>
      )),
    },
    ...(unreviewed === 0
      ? []
      : [
          {
            key: 'changes',
            badge: ['denied', 'emergency'],
            isOpen: true,
            sentence: `${countText(unreviewed, 'change was', 'changes were')} made in an emergency, and nobody has reviewed ${unreviewed === 1 ? 'it' : 'them'}`,
            to: 'inbox',
          } as const,
        ]),
    {
      key: 'reasons',
      badge: ['denied', 'refused'],
      isOpen: most !== undefined,
      sentence:
        most === undefined
          ? 'Nothing was refused'
          : `Refused most: ${words(most.reason)}, ${numberText(most.count)} of ${countText(refusals, 'refusal')}`,
      to: `activity?action=execution.denied&${within(report)}`,
    },
    {
      key: 'approvals',
      badge: ['require_approval', 'quick'],
      isOpen: isQuick,
      sentence: isQuick
        ? `${showInvisible(quickest.name ?? 'Keys without a name')} decided ${numberText(quickest.withinTenSeconds)} of ${numberText(quickest.approved + quickest.rejected)} within ten seconds`
        : 'Nobody decided within ten seconds',
      more: approvals.medianSeconds === null ? null : `half are settled within ${secondsText(approvals.medianSeconds)}`,
      to:
        isQuick && quickest.agentId !== null
          ? `activity?agentId=${encodeURIComponent(quickest.name ?? quickest.agentId)}&${within(report)}`
          : `activity?action=decision.approved&${within(report)}`,
    },
    {
      key: 'observed',
      badge: ['suspended', 'observed'],
      isOpen: first !== undefined,
      sentence:
        agents === null
          ? 'Seeing who is observed needs read'
          : first === undefined
            ? 'Nobody is observed'
            : `Observed: ${namesText(observed.map(({ name }) => showInvisible(name)))}`,
      more: (agents?.total ?? 0) > MAX_AGENTS ? `among the newest ${numberText(MAX_AGENTS)}` : null,
      to: first !== undefined && observed.length === 1 ? `agents/${first.id}` : 'agents',
    },
    {
      key: 'access',
      badge: ['proposed', 'unreviewed'],
      isOpen: (unreviewedAgents?.data.length ?? 0) > 0,
      sentence:
        unreviewedAgents === null
          ? 'Seeing whose access was reviewed needs read'
          : unreviewedAgents.data.length === 0
            ? 'The access of every agent was reviewed as it is'
            : `Access never reviewed, or changed since: ${namesText(unreviewedAgents.data.map(({ name }) => showInvisible(name)))}`,
      more: unreviewedAgents?.more === true ? `among the newest ${numberText(unreviewedAgents.data.length)}` : null,
      to: 'access',
    },
    {
      key: 'stops',
      badge: ['denied', 'stopped'],
      isOpen: stops.total > 0,
      sentence: stops.total === 0 ? 'Nothing is stopped' : `${countText(stops.total, 'stop')} in force`,
      to: 'activity?action=stop.created',
    },
    {
      key: 'policies',
      badge: ['interrupted', 'unused'],
      isOpen: unused.length > 0,
      sentence:
        unused.length === 0
          ? 'Every policy in force decided something'
          : `${countText(unused.length, 'policy', 'policies')} in force decided nothing: ${namesText(unused.map(({ name }) => showInvisible(name)))}`,
      to: 'policies',
    },
  ];
}

function namesText(names: readonly string[]): string {
  const more = names.length - NAMED;
  return more > 0 ? `${names.slice(0, NAMED).join(', ')} and ${numberText(more)} more` : listText(names, 'and');
}
