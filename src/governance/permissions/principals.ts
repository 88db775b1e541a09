import type { Agent } from '../agents/agent.entity';
import type { NamedAgents } from '../agents/find-agent';
import { callerRefused, type FieldFault } from '../../core/errors/domain-error';
import type { Caller, TokenPrincipal, AllowedPrincipals } from '../../ledger/kinds/caller';
import { type EvaluationSubject, subjectOf, subjectText, textsOf } from '../policies/patterns/subjects';
import {
  type OnBehalfOf,
  charactersFault,
  MAX_PRINCIPAL_CHARACTERS,
  principalSubjectFault,
  splitSubject,
} from '../policies/patterns/principals';
import { Field, OptionalText } from '../../http/validation/fields';
import { member, objectShape, textShape, textsShape } from '../../http/validation/shapes';
import { exactLabelFault } from '../../core/values/label-fault';

/** The principal of a request. */
export interface Principal {
  readonly onBehalfOf: OnBehalfOf;
  /** The principal as policies see it. */
  readonly subject: EvaluationSubject;
  /** Null unless it is a registered person. */
  readonly person: Agent | null;
}

/** Members of a caller that determine for whom it may act or ask. */
export type Vouches = Pick<Caller, 'principals'>;

/** A principal as a client sends it. */
export interface PrincipalInput {
  readonly subject: string;
  readonly roles?: readonly string[] | null | undefined;
}

const PERSON = 'agent';

/** Returns the id or name of the agent that a subject names; undefined if it names none. */
export function personNamedBy({ subject }: Pick<OnBehalfOf, 'subject'>): string | undefined {
  const { type, id } = splitSubject(subject);
  return type === PERSON ? id : undefined;
}

/** Returns the ids or names of the agents that must be looked up to find a caller's principal. */
export function namedPeople({ principals }: Vouches, input?: PrincipalInput): string[] {
  const idOrName = input && personNamedBy(input);
  const claimed = isToken(principals) ? principals.claim : null;
  return [...(idOrName === undefined ? [] : [idOrName]), ...(claimed === null ? [] : [claimed])];
}

/** A principal that the caller does not vouch for. */
const NOT_VOUCHED = 'not_this_principal';

/**
 * Returns the principal of a request: the principal that the request names, if its caller vouches for it, or else that
 * of the caller's token. Undefined for a person who does not exist.
 * @param people existing agents among {@link namedPeople}
 * @throws PERMISSION_DENIED for a principal that the caller does not vouch for
 */
export function principalOf(
  caller: Vouches,
  input: PrincipalInput | undefined,
  people: NamedAgents,
): Principal | null | undefined {
  const principal = vouchedPrincipal(caller, input, people);
  if (principal === NOT_VOUCHED) throw callerRefused('not_this_principal');
  return principal;
}

/** True if the caller vouches for the principal that the request names. */
export function isVouched(caller: Vouches, input: PrincipalInput | undefined, people: NamedAgents): boolean {
  return vouchedPrincipal(caller, input, people) !== NOT_VOUCHED;
}

function vouchedPrincipal(
  { principals }: Vouches,
  input: PrincipalInput | undefined,
  people: NamedAgents,
): Principal | null | undefined | typeof NOT_VOUCHED {
  if (isToken(principals)) return tokenPrincipal(principals, input, people);
  if (input === undefined) return null;
  const name = personNamedBy(input);
  const person = name === undefined ? undefined : personAmong(people, name);
  if (!isVouchedFor(principals, input, person)) return NOT_VOUCHED;
  if (name === undefined) return otherPrincipal(input.subject, input.roles ?? []);
  return person && personPrincipal(person);
}

/** @param path path of the member `onBehalfOf` */
export function unknownPersonFault(path: string): FieldFault {
  return { field: `${path}.subject`, message: 'must name an existing agent of kind human behind "agent:"' };
}

/** Returns the principal of a token, which counts even if the request does not name it. */
function tokenPrincipal(
  token: TokenPrincipal,
  input: PrincipalInput | undefined,
  people: NamedAgents,
): Principal | null | typeof NOT_VOUCHED {
  const { claim, roles } = token;
  if (claim === null && input === undefined) return null;
  const claimed = claim === null ? undefined : personAmong(people, claim);
  const person = claimed !== undefined && isAmong(token.people, textsOf(subjectOf(claimed))) ? claimed : undefined;
  // Unusable roles mean no principal: without its roles, the principal could evade a rule.
  const user = claim === null || roles === null ? null : otherPrincipal(`user:${claim}`, roles);
  const principal = person === undefined ? user : personPrincipal(person);
  if (input !== undefined && (principal === null || !isSame(principal, input, people))) return NOT_VOUCHED;
  return principal;
}

function isSame({ onBehalfOf, person }: Principal, input: PrincipalInput, people: NamedAgents): boolean {
  const name = personNamedBy(input);
  if (name !== undefined) return person !== null && people.get(name)?.id === person.id;
  const namedPrincipal = otherPrincipal(input.subject, input.roles ?? onBehalfOf.roles ?? []).onBehalfOf;
  return JSON.stringify(namedPrincipal) === JSON.stringify(onBehalfOf);
}

function personAmong(people: NamedAgents, idOrName: string): Agent | undefined {
  const agent = people.get(idOrName);
  return agent?.kind === 'human' ? agent : undefined;
}

/**
 * True if a pattern vouches for the principal. Only the caller knows the roles of principals that are not registered,
 * so these roles must not make a pattern match.
 */
function isVouchedFor(
  principals: Exclude<AllowedPrincipals, TokenPrincipal>,
  { subject, roles }: PrincipalInput,
  person: Agent | undefined,
): boolean {
  if (principals === 'anybody') return true;
  const patterns = new Set(principals.map(subjectText));
  const { type, id } = splitSubject(subject);
  const texts = person === undefined ? [`${type}:${id}`, `${type}:*`] : textsOf(subjectOf(person));
  return isAmong(patterns, texts) && (roles ?? []).every((role) => patterns.has(`role:${role}`));
}

function isAmong(patterns: ReadonlySet<string>, texts: readonly string[]): boolean {
  return patterns.has('*') || texts.some((text) => patterns.has(text));
}

function isToken(principals: AllowedPrincipals): principals is TokenPrincipal {
  return typeof principals === 'object' && 'claim' in principals;
}

/**
 * Returns the principal of an execution. @param person person as they were at some time; undefined unless registered
 */
export function keptPrincipal({ subject, roles = [] }: OnBehalfOf, person: Agent | undefined): Principal {
  return person === undefined ? otherPrincipal(subject, roles) : personPrincipal(person);
}

function otherPrincipal(subject: string, roles: readonly string[]): Principal {
  const { type, id } = splitSubject(subject);
  const onBehalfOf = { subject: `${type}:${id}`, ...(roles.length > 0 && { roles: [...roles].sort() }) };
  return { onBehalfOf, subject: { type, id, roles }, person: null };
}

function personPrincipal(person: Agent): Principal {
  return { onBehalfOf: { subject: `${PERSON}:${person.id}` }, subject: subjectOf(person), person };
}

const OPTIONAL = { optional: true };
const MAX_ROLES = 50;

/** The principal of a request. */
export const ON_BEHALF_OF = objectShape(
  {
    subject: member(textShape({ max: MAX_PRINCIPAL_CHARACTERS, rule: principalSubjectFault }), {
      description: '`<type>:<id>`, or `agent:<id or name>` of a registered person.',
      example: 'user:4711',
    }),
    roles: member(textsShape({ maxItems: MAX_ROLES, item: { max: 100, rule: exactLabelFault } }), {
      ...OPTIONAL,
      description: 'Its roles, as the caller knows them. Of a registered person, their own roles count.',
      example: ['finance'],
    }),
  },
  ({ subject, roles }) => {
    const isPerson = typeof subject === 'string' && personNamedBy({ subject }) !== undefined;
    if (!isPerson || roles === undefined || roles === null) return [];
    return [{ at: '.roles', message: 'must be left out: a registered person has its own roles' }];
  },
);

/** The name of a conversation or task. */
export const RUN = { max: 200, rule: charactersFault };

export function OnBehalfOfField(without: string): PropertyDecorator {
  const description = `For whom the agent acts. ${without}`;
  return Field(ON_BEHALF_OF, { optional: true, description });
}

export function RunField(): PropertyDecorator {
  const description = 'The conversation or task that this is part of, as the program of the agent names it.';
  return OptionalText({ ...RUN, description, example: 'conversation-4711' });
}
