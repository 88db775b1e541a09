import type { Schemas } from '../../../typescript/src/index.js';
import { line, type PlanLine, section, STRENGTH, versions } from './plan-text.js';

type Replay = NonNullable<Schemas['PolicyPlanResponse']['replay']>;
type Execution = Schemas['ExecutionResponse'];

/** Maximum number of recorded requests that are shown: each takes a request to look it up. */
const MAX_SHOWN = 10;

/** Returns the ids of the executions that `replayLines` names. */
export function shownExecutions({ examples }: Replay): string[] {
  return examples.slice(0, MAX_SHOWN).map(({ executionId }) => executionId);
}

/**
 * Returns lines about the answers that recorded requests would get.
 * @param executionsById those that the key may read
 */
export function replayLines(replay: Replay, executionsById: ReadonlyMap<string, Execution>): PlanLine[] {
  const { executions, changed, cut, examples } = replay;
  const more = changed - Math.min(examples.length, MAX_SHOWN);
  return [
    ...section(`Replay: ${changed} of ${executions} recorded requests would get a different answer.`),
    ...examples
      .slice(0, MAX_SHOWN)
      .flatMap(({ executionId, recorded, was, now, because }) => [
        line(
          STRENGTH[now] > STRENGTH[was] ? '!' : ' ',
          `${name(was)} → ${name(now)}: ${whatOf(executionsById.get(executionId))}`,
        ),
        line(' ', `  by     ${[because.from, because.to].map((those) => versions(those) || 'no policy').join(' → ')}`),
        line(' ', `  was    ${recorded} (${executionId})`),
      ]),
    ...(more > 0 ? [line(' ', `and ${more} more: --json has up to 100 of them`)] : []),
    ...(cut
      ? [line('!', 'These are the newest, not all: REPLAY_LIMIT or 30 seconds ended it. --from and --to narrow it.')]
      : []),
  ];
}

function name(effect: Replay['examples'][number]['was']): string {
  return effect === 'require_approval' ? 'approval' : effect;
}

function whatOf(execution: Execution | undefined): string {
  if (execution === undefined) return 'a request that this key may not read';
  const { agentName, action, resourceType, resourceId } = execution;
  return `${agentName}: ${action} on ${resourceType}/${resourceId}`;
}
