import { AGENT_KINDS, agentNameFault, normaliseAgentName } from '../../agents/agent-name';
import type { FieldFault } from '../../../core/errors/domain-error';
import {
  choiceShape,
  isObject,
  listShape,
  member,
  type Members,
  objectShape,
  type Shape,
  textShape,
  textsShape,
} from '../../../http/validation/shapes';
import type { TextLimits } from '../../../http/validation/value-rules';
import { resourcePathFault, resourceTypeFault } from '../../policies/patterns/resources';
import { ON_BEHALF_OF, RUN } from '../principal-fields';
import { isGiven } from './questions';
import { exactLabelFault, notComposedFault } from '../../../core/values/label-fault';

const MOST_REQUESTS = 1_000;
const MOST_EXPLAINED = 50;

/** The same limits as in execute. */
export const ACTION: TextLimits = { max: 100, rule: notComposedFault };
export const RESOURCE_TYPE: TextLimits = { max: 100, rule: resourceTypeFault };
export const RESOURCE_ID: TextLimits = { max: 500, rule: resourcePathFault };
export const AGENT_REFERENCE = { max: 200, normalise: normaliseAgentName };

const OPTIONAL = { optional: true };
const EITHER = 'must be left out: agent is given';

/** An agent that is not registered. The same limits as for agents; the length of a name counts in normal form C. */
export const SUBJECT = objectShape({
  name: member(textShape({ ...AGENT_REFERENCE, rule: agentNameFault }), OPTIONAL),
  roles: member(textsShape({ maxItems: 50, item: { max: 100, rule: exactLabelFault } }), { ...OPTIONAL, default: [] }),
  kind: member(choiceShape(AGENT_KINDS), { ...OPTIONAL, default: 'machine' }),
});

const FREE_FORM: Shape = {
  rule: (value) => (isObject(value) ? undefined : 'must be an object'),
  schema: { type: 'object', additionalProperties: true },
};

const QUESTION = objectShape(
  {
    agent: member(textShape(AGENT_REFERENCE), OPTIONAL),
    subject: member(SUBJECT, OPTIONAL),
    onBehalfOf: member(ON_BEHALF_OF, OPTIONAL),
    run: member(textShape(RUN), OPTIONAL),
    action: member(textShape(ACTION), OPTIONAL),
    resourceType: member(textShape(RESOURCE_TYPE), OPTIONAL),
    resourceId: member(textShape(RESOURCE_ID), OPTIONAL),
    parameters: member(FREE_FORM, OPTIONAL),
  },
  (given) => (hasBoth(given) ? [{ at: '.subject', message: EITHER }] : []),
);

/** The questions of a list. */
export const REQUESTS = listShape(QUESTION, 1, MOST_REQUESTS, 'requests');

export const REQUESTS_DESCRIPTION =
  `Up to ${MOST_REQUESTS} questions, with \`explain\` ${MOST_EXPLAINED}, answered by one set of policies. Members that one leaves ` +
  'out are taken from those next to the list; its `agent` or `subject` replaces either of them.';

/** What is wrong with the subject of a question: none, or both an agent and another subject. */
export function whoFaults(members: Members): readonly FieldFault[] {
  return [...conflictFaults(members), ...missingWho(members, {}, '')];
}

/** What is wrong with the combination of members: missing ones, or ones that exclude each other. */
export function togetherFaults(members: Members): readonly FieldFault[] {
  const { requests, explain, open } = members;
  const conflict = [...conflictFaults(members), ...openFaults(requests, explain, open)];
  if (requests === undefined) return [...conflict, ...missingFrom(members, {}, '')];
  if (!Array.isArray(requests)) return conflict;
  const tooMany = explain === true && requests.length > MOST_EXPLAINED;
  return [
    ...conflict,
    ...(tooMany ? [{ field: 'requests', message: `must be at most ${MOST_EXPLAINED} with explain` }] : []),
    ...requests.flatMap((given: unknown, index) =>
      isObject(given) ? missingFrom(given, members, `requests[${index}].`) : [],
    ),
  ];
}

function openFaults(requests: unknown, explain: unknown, open: unknown): FieldFault[] {
  if (open !== true) return [];
  const alone = { field: 'open', message: 'goes with requests only' };
  const both = { field: 'open', message: 'must be left out: explain is given' };
  return [...(requests === undefined ? [alone] : []), ...(explain === true ? [both] : [])];
}

const REQUIRED = ['action', 'resourceType', 'resourceId'] as const;

function missingFrom(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const missing = REQUIRED.filter((name) => !isGiven(given[name]) && !isGiven(defaults[name]));
  return [
    ...missingWho(given, defaults, prefix),
    ...missing.map((name) => ({ field: `${prefix}${name}`, message: 'is required' })),
  ];
}

function missingWho(given: Members, defaults: Members, prefix: string): FieldFault[] {
  const isNamed = [given, defaults].some(({ agent, subject }) => isGiven(agent) || isGiven(subject));
  return isNamed ? [] : [{ field: `${prefix}agent`, message: 'is required, or subject' }];
}

function conflictFaults(members: Members): FieldFault[] {
  return hasBoth(members) ? [{ field: 'subject', message: EITHER }] : [];
}

function hasBoth({ agent, subject }: Members): boolean {
  return isGiven(agent) && isGiven(subject);
}
