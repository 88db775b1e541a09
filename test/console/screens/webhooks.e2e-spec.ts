import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAgent } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage } from '../company';
import { overflow } from '../look';

describeInBrowser("The console's webhooks", () => {
  const stage = companyStage(() => ({ WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' }));
  let endpoint: Server;
  let status = 204;

  beforeAll(async () => {
    endpoint = createServer((_, response) => response.writeHead(status).end());
    await once(endpoint.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => endpoint.close());

  async function created(description = ''): Promise<string> {
    const { port } = endpoint.address() as AddressInfo;
    const body = { url: `http://127.0.0.1:${port}/hook`, actions: ['agent.created'], description };
    const { program } = stage.company;
    return (await send(program, 'POST', '/api/v1/webhooks', { key: program.key, body })).body.id;
  }

  async function opened(path: string, look = {}): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`, look);
    await signIn(page, stage.company.program.key);
    return page;
  }

  it('say why they fail, are tried, and resumed', async () => {
    status = 410;
    await created('Retired');
    const page = await opened('webhooks');
    await createAgent(stage.company.program, { name: 'first' });
    await page.getByRole('link', { name: /^failing.*Retired/s }).click();
    await page.getByText('The endpoint answered 410, which means that it is gone for good.').waitFor();
    await page.getByRole('button', { name: 'Send a test' }).press('Enter');
    await page.getByText(/After \d+ ms the endpoint answered 410\./).waitFor();
    status = 204;
    await page.getByRole('button', { name: 'Resume now' }).press('Enter');
    await page.getByText('active', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText(/After \d+ ms the endpoint answered 204\./).waitFor();
  });

  it('deliver again from an entry on, which has to exist', async () => {
    const { program } = stage.company;
    status = 204;
    const id = await created();
    await createAgent(program, { name: 'to be delivered twice' });
    const page = await opened(`webhooks/${id}`);
    const after = page.getByLabel('After entry');
    await after.waitFor();
    await page.getByText('The last delivery was confirmed.').waitFor();
    await after.fill('999999');
    await after.press('Enter');
    expect(
      await after.evaluate((field: { validity: { rangeOverflow: boolean } }) => field.validity.rangeOverflow),
    ).toBe(true);
    await after.fill('0');
    await Promise.all([once(endpoint, 'request'), after.press('Enter')]);
  });

  it('are not confirmed by going on after the entry that failed', async () => {
    const { program } = stage.company;
    status = 410;
    const id = await created();
    await createAgent(program, { name: 'passed over' });
    const page = await opened(`webhooks/${id}`);
    await page.getByText('which means that it is gone for good').waitFor();
    const { total: after } = (await send(program, 'GET', '/api/v1/provenance?limit=1', { key: program.key })).body;
    const replayed = { key: program.key, body: { after } };
    await send(program, 'POST', `/api/v1/webhooks/${id}/replay`, replayed);
    await page
      .getByText('The last delivery was not confirmed: the endpoint answered 410. Nothing has been delivered since.')
      .waitFor();
  });

  it('are harmless, whatever is said of them', async () => {
    const { program } = stage.company;
    const body = {
      url: `http://127.0.0.1/${'%3Cb%3E'.repeat(200)}`,
      actions: ['x.*', `${'a'.repeat(90)}.b`],
      description: `<img src=x onerror=alert(1)> \u202e${'d'.repeat(1_900)}`,
    };
    const { id } = (await send(program, 'POST', '/api/v1/webhooks', { key: program.key, body })).body;
    const page = await opened('webhooks', { width: 390, dark: true });
    await page.getByText('\\u202e').waitFor();
    expect(await overflow(page)).toBe(0);
    await page.goto(`${program.url}/console/webhooks/${String(id)}`);
    await signIn(page, program.key);
    await page.getByRole('region', { name: 'About' }).getByText('\\u202e').waitFor();
    expect([await overflow(page), await page.locator('main img').count()]).toEqual([0, 0]);
  });
});
