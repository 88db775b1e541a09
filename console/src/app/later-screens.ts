import { Entities } from '../screens/entities/entities.js';
import { EntityScreen } from '../screens/entities/entity.js';
import { Explain } from '../screens/explain/explain.js';
import { Health } from '../screens/health/health.js';
import { Proof } from '../screens/proof/proof.js';
import { WebhookScreen } from '../screens/webhooks/webhook.js';
import { Webhooks } from '../screens/webhooks/webhooks.js';

/** What nobody opens the console with, in one file of its own: each further file would split what they all share. */
export const LATER_SCREENS = { Entities, EntityScreen, Explain, Health, Proof, WebhookScreen, Webhooks };
