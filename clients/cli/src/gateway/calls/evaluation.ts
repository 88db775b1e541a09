import type { JsonObject } from '../file/gateway-config.js';
import { Refusal } from './refusal.js';
import type { CallerService } from './service-calls.js';

/** A question that is answered without being recorded. */
export interface Question {
  readonly agent: string;
  readonly action: string;
  readonly resourceType: string;
  readonly resourceId: string;
  readonly parameters: JsonObject;
  readonly secret?: readonly string[];
  readonly onBehalfOf?: { readonly subject: string };
  readonly run?: string;
}

/**
 * Requires that policies allow an action without an approval. Returns true if they allow it only because the agent is
 * observed: such an action has to be recorded.
 * @throws Refusal 403
 */
export async function requireAllowed(service: CallerService, question: Question): Promise<boolean> {
  const { effect, reason, policies, grantId, observed = false } = await service.evaluate(question);
  if (effect === 'allow' && grantId === undefined) return observed;
  const names = policies.map(({ name, version }) => `${name} ${version}`).join(', ');
  const by = names === '' ? '' : ` by the policy ${names}`;
  if (effect === 'require_approval' || grantId !== undefined) {
    const message = `The action ${question.action} needs an approval${by}, and this route asks for none: it is not recorded.`;
    throw new Refusal(403, 'approval_required', message);
  }
  throw new Refusal(
    403,
    reason,
    `The action ${question.action} on ${question.resourceId} is denied${by} (${String(reason)}).`,
    {
      ...(reason === 'policy_denied' && { code: 'POLICY_DENIED' }),
    },
  );
}
