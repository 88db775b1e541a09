import { isDeepStrictEqual } from 'node:util';
import { AGENT } from '../../../src/governance/agents/agent.entity';
import { API_KEY } from '../../../src/governance/api-keys/api-key.entity';
import { DECISION } from '../../../src/governance/decisions/decision.entity';
import { EXECUTION } from '../../../src/governance/executions/execution.entity';
import { POLICY } from '../../../src/governance/policies/policy.entity';
import { WEBHOOK } from '../../../src/evidence/webhooks/webhook.entity';
import type { Parsed } from '../application/send';

/** Later members, in a list for each kind: two kinds may leave out the same member for different values. */
const LATER_MEMBERS = [AGENT, API_KEY, POLICY, DECISION, EXECUTION, WEBHOOK].map(
  ({ laterMembers }) => laterMembers ?? {},
);

/** The sealed form: members that were added later, also to reviews, are left out while they are unset. */
export function withoutUnset(record: Parsed): Parsed {
  const isSet = ([name, value]: [string, unknown]): boolean =>
    !LATER_MEMBERS.some((members) => name in members && isDeepStrictEqual(value, Reflect.get(members, name)));
  const sealed: Parsed = Object.fromEntries(Object.entries(record).filter(isSet));
  const reviews = sealed.reviews?.map(({ groups, ...review }: Parsed) =>
    groups === null ? review : { ...review, groups },
  );
  return reviews === undefined ? sealed : { ...sealed, reviews };
}
