import { issueKey } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, signIn } from '../browser';
import { askToPay, companyStage } from '../company';

const SCREENS = [
  'Overview',
  'Inbox',
  'Activity',
  'Explain',
  'Policies',
  'Agents and keys',
  'Access',
  'Proof',
  'Health',
];

/** Keys of people, of machines and of nobody. */
const KEYS: readonly [who: 'finn' | 'bot' | null, scopes: readonly string[]][] = [
  ['finn', ['review']],
  ['finn', ['read']],
  ['finn', ['propose']],
  ['finn', ['review', 'propose', 'execute']],
  ['bot', ['execute']],
  [null, ['read']],
  [null, ['audit']],
  [null, ['review']],
  [null, ['entities']],
  [null, ['agents']],
  [null, ['policies']],
  [null, ['read', 'policies', 'agents']],
];

describeInBrowser('The console sends nothing that is refused for the scopes of the key', () => {
  const stage = companyStage();

  it.each(KEYS)('of %s with the scopes %j', async (who, scopes) => {
    const { company } = stage;
    const { program } = company;
    const { id, decisionId } = await askToPay(company, { invoice: `${String(who)} ${scopes.join(' ')}` });
    const bound = who === null ? {} : { agentId: company[who].id };
    const { secret } = await issueKey(program, { name: 'looking', scopes, ...bound });
    const page = await stage.browser.open(`${program.url}/console`, { expected: [/./] });
    const refused: string[] = [];
    let open = 0;
    page.on('request', (request) => void (open += isStream(request.url()) ? 0 : 1));
    page.on('requestfailed', (request) => void (open -= isStream(request.url()) ? 0 : 1));
    page.on('requestfinished', (request) => void (open -= isStream(request.url()) ? 0 : 1));
    page.on('response', (response) => void (response.status() === 403 && refused.push(response.url())));
    await signIn(page, secret);
    const settled = async (): Promise<void> => {
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      while (open > 0) await page.waitForTimeout(20);
    };
    await settled();
    for (const name of SCREENS) {
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await settled();
      expect([name, refused]).toEqual([name, []]);
    }
    const { body } = await send(program, 'GET', '/api/v1/policies?limit=1');
    // By links within the page, as the session ends when it is loaded anew.
    for (const path of [
      `decisions/${decisionId}`,
      `executions/${id}`,
      `policies/${body.data[0].id}`,
      `agents/${company.bot.id}`,
      `access/${company.bot.id}`,
    ]) {
      await page.evaluate(
        `history.pushState(null, '', '/console/${path}'); dispatchEvent(new PopStateEvent('popstate'));`,
      );
      await settled();
      expect([path, refused]).toEqual([path, []]);
    }
  });
});

/** It stays open. */
function isStream(url: string): boolean {
  return url.includes('/events');
}
