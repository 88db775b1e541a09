import type { JSX } from 'preact';
import { useNames } from '../../api/names.js';
import type { Plan } from '../../api/types.js';
import { counted, listText, revealed, words } from '../../ui/format.js';
import { Badge } from '../../ui/parts.js';
import { subjectText } from '../inbox/needs.js';
import { Replay } from './replay.js';

type Effect = Plan['effects'][number];

/** The requests that would be answered differently, and what else a set of policies would change. */
export function PlanView({ plan }: { readonly plan: Plan }): JSX.Element {
  const { changes, effects, complete, reason, shadowed, warnings, replay } = plan;
  return (
    <div class="plan" role="status">
      <h3>What it would change</h3>
      <ul>
        {changes.map(({ change, name, version, replaces }) => (
          <li key={`${name} ${version}`}>
            <strong>{change}</strong> {revealed(`${name} ${version}`)}
            {replaces === null ? '' : `, in place of ${revealed(replaces.version)}`}
          </li>
        ))}
      </ul>
      {effects.length === 0 ? (
        <p class="notice">
          {complete ? 'Every request would get the same answer as now.' : 'No change has been found so far.'}
        </p>
      ) : (
        <>
          <p>{counted(effects.length, 'kind')} of requests would get a different answer:</p>
          <ul class="effects">
            {effects.map((effect, index) => (
              <Region key={index} effect={effect} />
            ))}
          </ul>
        </>
      )}
      {complete ? null : (
        <p class="notice warn">This list is incomplete{reason === null ? '' : `: ${words(reason)}`}.</p>
      )}
      {replay === undefined ? null : <Replay of={replay} />}
      {shadowed.map(({ policy, by }) => (
        <p key={policy.name} class="notice warn">
          {revealed(`${policy.name} ${policy.version}`)} would never decide: {revealed(`${by.name} ${by.version}`)}{' '}
          matches everything that it matches.
        </p>
      ))}
      {warnings.map((warning) => (
        <p key={warning} class="notice warn">
          {revealed(warning)}
        </p>
      ))}
    </div>
  );
}

function Region({ effect }: { readonly effect: Effect }): JSX.Element {
  const nameOf = useNames();
  const { from, to, subjects, actions, resourceTypes, resources, when } = effect;
  return (
    <li>
      <Verdict of={from} /> → <Verdict of={to} />
      <p>
        {listText(
          subjects.map((subject) => subjectName(subject, nameOf)),
          'or',
        )}
        : {patterns(actions)} on {patterns(resourceTypes)} {patterns(resources)}
        {when.hold.length === 0
          ? ''
          : `, where the conditions of ${listText(
              when.hold.map(({ name }) => revealed(name)),
              'and',
            )} hold`}
        {when.fail.length === 0
          ? ''
          : `, where those of ${listText(
              when.fail.map(({ name }) => revealed(name)),
              'and',
            )} do not`}
      </p>
    </li>
  );
}

function Verdict({ of: { effect, approvers } }: { readonly of: Effect['from'] }): JSX.Element {
  const groups = approvers?.map(
    ({ subjects, approvals }) => `${approvals} of ${listText(subjects.map(subjectText), 'or')}`,
  );
  return <Badge value={effect} text={groups === undefined ? words(effect) : `needs ${listText(groups, 'and')}`} />;
}

function subjectName(subject: string, nameOf: (id: string) => string): string {
  if (subject === 'other:machine') return 'any other machine';
  if (subject === 'other:human') return 'any other person';
  return nameOf(subject);
}

function patterns({ in: within, except }: Effect['actions']): string {
  const named = listText(
    within.map((pattern) => (pattern === '*' ? 'anything' : revealed(pattern))),
    'or',
  );
  return except.length === 0 ? named : `${named} but ${revealed(listText(except, 'and'))}`;
}
