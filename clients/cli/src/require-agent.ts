import { type GovernanceClient, GovernanceError } from '../../typescript/src/index.js';
import { seenBy } from './decision-text.js';
import { plain } from './output.js';
import { SettingsError } from './settings.js';

/**
 * Requires that an agent exists, because a list finds as little for an unknown agent as for one that has done nothing.
 * Does nothing for a key without the scope `read`, which cannot tell.
 * @throws SettingsError
 */
export async function requireAgent(governance: GovernanceClient, idOrName: string): Promise<void> {
  if (!(await seenBy(governance))('read')) return;
  try {
    await governance.get('/api/v1/agents/{id}', { path: { id: idOrName }, query: {} });
  } catch (error) {
    if (!(error instanceof GovernanceError) || error.status !== 404) throw error;
    throw new SettingsError(`There is no agent with the id or name ${plain(idOrName)}.`);
  }
}
