import { createAgent, createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage } from '../company';
import { overflow, violations, withAxe } from '../look';

describeInBrowser("The console's limits", () => {
  const stage = companyStage();

  async function opened(path: string, look = {}): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`, look);
    await signIn(page, stage.company.sara.key);
    return page;
  }

  it('show what is used of them, as bars: on their policy as it is used, and on each agent', async () => {
    const { program } = stage.company;
    const limits = [
      { max: 1000, of: '/amount', per: 'month', by: 'agent' },
      { max: 50, per: 'month', by: 'policy' },
    ];
    const { id: policyId } = await createPolicy(program, { name: 'little', actions: ['tip'], limits });
    const use = async (agentId: string, amount: number): Promise<void> => {
      const body = { action: 'tip', resourceType: 'waiter', resourceId: '1', parameters: { amount } };
      const path = `/api/v1/agents/${agentId}/execute`;
      expect((await send(program, 'POST', path, { key: program.key, body })).status).toBe(200);
    };
    const one = await createAgent(program, { name: 'tipper', capabilities: ['tip'] });
    const other = await createAgent(program, { name: 'another', capabilities: ['tip'] });
    await use(one.id, 850.5);
    const page = await opened(`policies/${policyId}`);
    const bars = page.getByRole('region', { name: 'Used of its limits' }).getByRole('listitem');
    await bars.nth(1).waitFor();
    expect((await bars.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^850\.5 of 1000 \/amount a month tipper resets /),
      expect.stringMatching(/^1 of 50 executions a month all agents together resets /),
    ]);
    await use(other.id, 20);
    await bars.filter({ hasText: 'another' }).getByText('20 of 1000').waitFor();
    const agents = await opened(`agents/${other.id}`, { width: 390, dark: true });
    const own = agents.getByRole('region', { name: 'Used of limits' }).getByRole('listitem');
    await own.nth(1).waitFor();
    expect(await agents.getByRole('meter').count()).toBe(2);
    expect((await own.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/^2 of 50 executions a month little 1\.0 all agents together/),
      expect.stringMatching(/^20 of 1000 \/amount a month little 1\.0/),
    ]);
    for (const window of [page, agents]) {
      await withAxe(window);
      expect([await violations(window), await overflow(window)]).toEqual([[], 0]);
    }
  });

  it('are named by Explain where they decide, and so is the observation of an agent', async () => {
    const { program } = stage.company;
    const limits = [{ max: 10, of: '/amount', per: 'day', by: 'agent' }];
    await createPolicy(program, { name: 'a-little', actions: ['round-up'], limits });
    const { id } = await createAgent(program, { name: 'rounder', capabilities: ['round-up', 'round-down'] });
    const observeUntil = new Date(Date.now() + 3_600_000).toISOString();
    await send(program, 'PATCH', `/api/v1/agents/${id}`, { key: program.key, body: { observeUntil } });
    const page = await opened('explain');
    await page.getByLabel('Agent').fill('rounder');
    await page.getByLabel('Action').fill('round-up');
    await page.getByLabel('Resource type').fill('bill');
    await page.getByLabel('Resource', { exact: true }).fill('1');
    await page.getByLabel('Arguments').fill('{"amount": 25}');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('a-little 1.0 would allow it, but 0 of 10 are used and this request needs 25;').waitFor();
    await page.getByLabel('Action').fill('round-down');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('because the agent is observed.').waitFor();
  });
});
