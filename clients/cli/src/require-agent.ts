import { type GovernanceClient, GovernanceError } from '../../typescript/src/index.js';
import { seenBy } from './decision-text.js';
import { plain } from './output.js';
import { SettingsError } from './settings.js';

/**
 * A list finds as little for an agent that does not exist as for one that has done nothing. Only a key with the scope
 * `read` can tell them apart.
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
