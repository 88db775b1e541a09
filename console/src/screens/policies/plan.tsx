import type { JSX } from 'preact';
import { useNames } from '../../api/use-names.js';
import type { Plan } from '../../api/types.js';
import { countText, listText, showInvisible, words } from '../../ui/format.js';
import { jsonText } from '../../ui/json.js';
import { Badge } from '../../ui/parts.js';
import { subjectText } from '../inbox/needs.js';
import { Replay } from './replay.js';

type Effect = Plan['effects'][number];

/** The requests that would be answered differently, and the other effects of a set of policies. */
export function PlanView({ plan }: { readonly plan: Plan }): JSX.Element {
  const { changes, effects, complete, reason, shadowed, warnings, replay } = plan;
  return (
    <div class="plan" role="status">
      <h3>What it would change</h3>
      <ul>
        {changes.map(({ change, name, version, replaces, differences }) => (
          <li key={`${name} ${version}`}>
            <strong>{change}</strong> {showInvisible(`${name} ${version}`)}
            {replaces === null ? '' : `, in place of ${showInvisible(replaces.version)}`}
            {differences.length === 0 ? null : (
              <ul>
                {differences.map(({ at: pointer, from, to }) => (
                  <li key={pointer}>
                    <code>{showInvisible(pointer)}</code>: <code>{jsonText(from, 0)}</code> →{' '}
                    <code>{jsonText(to, 0)}</code>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      {effects.length === 0 ? (
        <p class="notice">
          {complete ? 'Every request would get the same answer as now.' : 'No change has been found so far.'}
        </p>
      ) : (
        <>
          <p>{countText(effects.length, 'kind')} of requests would get a different answer:</p>
          <ul class="effects">
            {effects.map((effect, index) => (
              <Region key={index} effect={effect} />
            ))}
          </ul>
        </>
      )}
      {complete ? null : <p class="notice warn">This list is incomplete{reason === null ? '.' : `: ${reason}`}</p>}
      {replay === undefined ? null : <Replay replay={replay} />}
      {shadowed.map(({ policy, by }) => (
        <p key={policy.name} class="notice warn">
          {showInvisible(`${policy.name} ${policy.version}`)} would never decide:{' '}
          {showInvisible(`${by.name} ${by.version}`)} matches everything that it matches.
        </p>
      ))}
      {warnings.map((warning) => (
        <p key={warning} class="notice warn">
          {showInvisible(warning)}
        </p>
      ))}
    </div>
  );
}

function Region({ effect }: { readonly effect: Effect }): JSX.Element {
  const nameOf = useNames();
  const { from, to, subjects } = effect;
  return (
    <li>
      <Verdict outcome={from} /> → <Verdict outcome={to} />
      <p>
        {listText(
          subjects.map((subject) => subjectName(subject, nameOf)),
          'or',
        )}
        : {regionText(effect)}
      </p>
    </li>
  );
}

/** Describes the requests of a region, without their senders. */
export function regionText({
  actions,
  resourceTypes,
  resources,
  when,
}: Pick<Effect, 'actions' | 'resourceTypes' | 'resources' | 'when'>): string {
  return [
    `${patterns(actions)} on ${patterns(resources)}`,
    isEverything(resourceTypes) ? '' : ` of the type ${patterns(resourceTypes)}`,
    when.hold.length === 0 ? '' : `, where ${conditions(when.hold, 'them')}`,
    when.fail.length === 0 ? '' : `, unless ${conditions(when.fail, 'any of them')}`,
  ].join('');
}

/**
 * The text does not say that the conditions hold: a denial also matches if the parameter of its condition is missing.
 */
function conditions(policies: Effect['when']['hold'], several: string): string {
  const policyNames = listText(
    policies.map(({ name }) => showInvisible(name)),
    'and',
  );
  return `the conditions of ${policyNames} let ${policies.length === 1 ? 'it' : several} match`;
}

export function Verdict({ outcome: { effect, approvers } }: { readonly outcome: Effect['from'] }): JSX.Element {
  const groups = approvers?.map(
    ({ subjects, approvals, signed }) =>
      `${approvals} of ${listText(subjects.map(subjectText), 'or')}${signed ? ', signed' : ''}`,
  );
  return <Badge value={effect} text={groups === undefined ? words(effect) : `needs ${listText(groups, 'and')}`} />;
}

function subjectName(subject: string, nameOf: (id: string) => string): string {
  if (subject === 'other:machine') return 'any other machine';
  if (subject === 'other:human') return 'any other person';
  if (subject.startsWith('other:role:'))
    return `any machine with the role ${showInvisible(subject.slice('other:role:'.length))}`;
  if (subject.startsWith('other:agent:'))
    return `a machine named ${showInvisible(subject.slice('other:agent:'.length))}`;
  return nameOf(subject);
}

function patterns({ in: within, except }: Effect['actions']): string {
  const patternNames = listText(within.map(patternText), 'or');
  return except.length === 0 ? patternNames : `${patternNames} but ${listText(except.map(patternText), 'and')}`;
}

/** `+` and `://` are patterns that only a plan has. */
function patternText(pattern: string): string {
  if (pattern === '*') return 'anything';
  if (pattern === '+') return 'any name without "/"';
  return pattern === '://' ? 'any URL' : showInvisible(pattern);
}

function isEverything({ in: within, except }: Effect['actions']): boolean {
  return within.includes('*') && except.length === 0;
}
