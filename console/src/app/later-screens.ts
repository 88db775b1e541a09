import { PendingChange } from './changes/pending-change.js';
import { AccessScreen } from '../screens/access/access.js';
import { UnreviewedAccess } from '../screens/access/unreviewed-access.js';
import { Agents } from '../screens/agents/agents.js';
import { AgentScreen } from '../screens/agents/agent.js';
import { DelegationsScreen } from '../screens/delegations/delegations.js';
import { Entities } from '../screens/entities/entities.js';
import { EntityScreen } from '../screens/entities/entity.js';
import { Explain } from '../screens/explain/explain.js';
import { Health } from '../screens/health/health.js';
import { Review } from '../screens/inbox/review.js';
import { Proof } from '../screens/proof/proof.js';
import { WebhookScreen } from '../screens/webhooks/webhook.js';
import { Webhooks } from '../screens/webhooks/webhooks.js';

/**
 * Screens with which nobody opens the console, in one file: each further file would split the code that they all share.
 */
export const LATER_SCREENS = {
  AccessScreen,
  AgentScreen,
  Agents,
  DelegationsScreen,
  Entities,
  EntityScreen,
  Explain,
  Health,
  PendingChange,
  Proof,
  Review,
  UnreviewedAccess,
  WebhookScreen,
  Webhooks,
};
