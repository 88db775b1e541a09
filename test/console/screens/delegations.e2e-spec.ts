import { send } from '../../support/application/send';
import type { Locator } from '../../../console/node_modules/playwright-core';
import { describeInBrowser, type Page, signIn } from '../browser';
import { createAgent, issueKey, propose } from '../../support/application/factories';
import { askToPay, companyStage } from '../company';
import { overflow, violations, withAxe } from '../look';

type Box = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>;

describeInBrowser("The console's delegations", () => {
  const stage = companyStage();

  async function open(path: string, key: string): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console${path}`);
    await signIn(page, key);
    return page;
  }

  it('let a person review in the place of another, until that person ends it', async () => {
    const { program, sara, finn } = stage.company;
    const page = await open('/inbox', sara.key);
    await page.getByRole('link', { name: 'Delegations' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your delegations' }).waitFor();
    const own = page.getByRole('region', { name: 'Who reviews in your place' });
    await own.getByText('Nobody.').waitFor();
    await own.getByLabel('To').fill('finn');
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16);
    await own.getByLabel('Until').fill(tomorrow);
    await own.getByRole('button', { name: 'Let this person review in your place' }).click();
    const row = own.getByRole('listitem').filter({ hasText: 'finn' });
    await row.getByText('active').waitFor();
    expect(await own.getByLabel('Until').inputValue()).toBe('');
    await withAxe(page);
    expect(await violations(page)).toEqual([]);

    const { decisionId } = await askToPay(stage.company);
    const other = await open(`/decisions/${decisionId}`, finn.key);
    await other.getByLabel('Decide in the place of').selectOption({ label: 'sara, who is away' });
    await other.locator('button:enabled', { hasText: 'Approve' }).click();
    await other.getByText('in the place of somebody who is away').waitFor();
    const { body } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`, { key: program.key });
    expect(body.reviews).toMatchObject([{ approverId: finn.id, verdict: 'approve', delegationId: expect.any(String) }]);
    await other.getByRole('link', { name: 'Delegations' }).click();
    const received = other.getByRole('region', { name: 'In whose place you review' });
    await received.getByRole('listitem').filter({ hasText: 'sara' }).getByText('active').waitFor();
    expect(await received.getByRole('button').count()).toBe(0);

    await row.getByRole('button', { name: 'End it: finn' }).click();
    await row.getByText('ended').waitFor();
    const second = await askToPay(stage.company, { invoice: 'another' });
    const later = await open(`/decisions/${second.decisionId}`, finn.key);
    await later.locator('button:enabled', { hasText: 'Approve' }).waitFor();
    expect(await later.getByLabel('Decide in the place of').count()).toBe(0);
  });

  it('begin when the person says, and are ended by an administrator', async () => {
    const { program, sara, finn } = stage.company;
    const page = await open(`/delegations/${finn.id}`, finn.key);
    const own = page.getByRole('region', { name: 'Who reviews in your place' });
    await own.getByLabel('To').fill('sara');
    const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
    await own.getByLabel('From').fill(inDays(2));
    await own.getByLabel('Until').fill(inDays(200));
    const send = own.getByRole('button', { name: 'Let this person review in your place' });
    await send.click();
    await own
      .getByRole('alert')
      .getByText(/90 days/)
      .waitFor();
    stage.browser.takeFaults();
    await own.getByLabel('Until').fill(inDays(3));
    await send.click();
    await own.getByText('waiting').waitFor();
    const admin = await open(`/agents/${finn.id}`, program.key);
    await admin.getByRole('link', { name: 'Delegations' }).click();
    const places = admin.getByRole('region', { name: 'Who reviews in this place' });
    await places.getByRole('button', { name: 'End it: sara' }).click();
    await places.getByText('ended').waitFor();
    await own.getByText('ended').waitFor();
    expect(sara.id).not.toBe(finn.id);
  });

  it('put in the inbox what waits in the place of another, without boxes', async () => {
    const { program, bot, sara } = stage.company;
    const dave = await createAgent(program, { name: 'dave', kind: 'human' });
    const { secret } = await issueKey(program, { name: 'dave', scopes: ['review', 'read'], agentId: dave.id });
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const path = `/api/v1/agents/${sara.id}/delegations`;
    await send(program, 'POST', path, { key: sara.key, body: { to: dave.id, until } });
    const { decisionId } = await askToPay(stage.company, { invoice: 'in her place' });
    await askToPay(stage.company, { invoice: 'in her place, too' });
    const page = await open('/inbox', secret);
    const row = page.locator('.row', { hasText: '"in her place"' });
    await row.getByText("you can approve it in sara's place").waitFor();
    await page.getByRole('heading', { name: 'payment-bot: pay-invoice' }).waitFor();
    expect(await page.locator('summary').innerText()).toContain("in sara's place");
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await propose(program, bot.id, { title: 'His own', approvers: [{ subjects: ['agent:dave'] }] });
    await page.getByRole('checkbox', { name: 'Select His own' }).waitFor();
    await page.getByRole('checkbox', { name: 'Select all 1', exact: true }).check();
    await page.getByText('1 request selected').waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(2);
    await row.click();
    await page.getByLabel('Decide in the place of').waitFor();
    await page.locator('button:enabled', { hasText: 'Approve' }).click();
    await page.getByText('in the place of somebody who is away').waitFor();
    const { body } = await send(program, 'GET', `/api/v1/decisions/${decisionId}`);
    expect(body.reviews).toMatchObject([{ approverId: dave.id, verdict: 'approve' }]);
  });

  it.each([1280, 390])('stand in line in a window of %d pixels', async (width) => {
    const { program, sara, finn } = stage.company;
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const path = `/api/v1/agents/${finn.id}/delegations`;
    await send(program, 'POST', path, { key: finn.key, body: { to: sara.id, until } });
    const page = await stage.browser.open(`${program.url}/console/delegations/${finn.id}`, { width });
    await signIn(page, finn.key);
    const own = page.getByRole('region', { name: 'Who reviews in your place' });
    await own.getByRole('heading', { name: 'A new delegation' }).waitFor();
    const boxOf = async (place: Locator): Promise<Box> => {
      const box = await place.boundingBox();
      if (box === null) throw new Error('It is not on screen.');
      return box;
    };
    const fields = ['To', 'From', 'Until'].map((label) => own.getByLabel(label));
    const boxes = await Promise.all(fields.map(boxOf));
    expect(new Set(boxes.map(({ height }) => height)).size).toBe(1);
    const lines = new Set(boxes.map((box) => (width === 1280 ? box.y : box.x)));
    expect(lines.size).toBe(1);
    const end = own.getByRole('button', { name: 'End it: sara' }).first();
    const [button, row] = [await boxOf(end), await boxOf(own.locator('.row').first())];
    // Under the name where there is no room beside it.
    const gap = width === 1280 ? row.x + row.width - button.x - button.width : button.x - row.x;
    expect(gap).toBeLessThan(20);
    expect(await overflow(page)).toBe(0);
  });
});
