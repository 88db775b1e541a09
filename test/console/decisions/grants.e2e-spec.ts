import { createPolicy } from '../../support/application/factories';
import { send } from '../../support/application/send';
import { describeInBrowser, type Page, signIn } from '../browser';
import { companyStage, PAYMENT } from '../company';
import { overflow, violations, withAxe } from '../look';

describeInBrowser("The console's grants", () => {
  const stage = companyStage();
  let invoices = 0;

  beforeAll(async () => {
    const approvers = [{ subjects: ['role:security'] }, { subjects: ['role:finance'] }];
    const rules = { effect: 'require_approval', actions: ['read-invoice'] };
    const grant = { for: 'P2D', uses: 20, wider: true };
    const onlySara = { conditions: [{ parameter: '/only', op: 'eq', value: 'sara' }], priority: 1 };
    await createPolicy(stage.company.program, { ...rules, name: 'two', approval: { approvers, grant } });
    await createPolicy(stage.company.program, {
      ...{ ...rules, ...onlySara, name: 'one' },
      approval: { approvers: approvers.slice(0, 1) },
    });
  });

  async function readInvoice(parameters: object = {}, about?: string): Promise<{ id: string; decisionId: string }> {
    const { program, bot } = stage.company;
    invoices += 1;
    const body = { ...PAYMENT, action: 'read-invoice', resourceId: about ?? `invoices/${invoices}` };
    return (
      await send(program, 'POST', '/api/v1/agents/payment-bot/execute', {
        key: bot.key,
        body: { ...body, parameters: { only: 'both', ...parameters } },
      })
    ).body;
  }

  async function opened(path: string, key: string, look = {}): Promise<Page> {
    const page = await stage.browser.open(`${stage.company.program.url}/console/${path}`, look);
    await signIn(page, key);
    return page;
  }

  it('are given by one, adopted by another with one touch, followed, and revoked', async () => {
    const { program, sara, finn, bot } = stage.company;
    const { decisionId, id } = await readInvoice();
    const saras = await opened(`decisions/${decisionId}`, sara.key, { width: 390, dark: true });
    const length = saras.getByLabel('For how long');
    await length.waitFor();
    expect(await length.locator('option').allInnerTexts()).toEqual([
      'this once',
      '1 hour',
      '8 hours',
      '1 day',
      '2 days',
    ]);
    await length.selectOption('8 hours');
    const often = saras.getByLabel(/^How often/);
    // The value of a field for numbers is empty then, which would mean any number of times.
    await often.pressSequentially('5-');
    await saras.getByRole('button', { name: 'Approve' }).click();
    await saras.locator('input:focus:invalid').waitFor();
    expect((await send(program, 'GET', `/api/v1/decisions/${decisionId}`)).body.reviews).toEqual([]);
    await often.fill('3');
    await saras.getByLabel(/^Resources/).fill('invoices/*');
    await saras.getByLabel('With any parameters').check();
    await withAxe(saras);
    expect([await violations(saras), await overflow(saras)]).toEqual([[], 0]);
    await saras.getByRole('button', { name: 'Approve' }).click();
    await saras.getByText(/Your review is recorded/).waitFor();

    const finns = await opened(`decisions/${decisionId}`, finn.key);
    await finns.getByText(/sara gave: 8 hours, 3 times, invoices\/\*, any parameters\. Unless all/).waitFor();
    await finns.getByRole('button', { name: 'Give the same' }).click();
    await finns.getByRole('button', { name: 'Approve' }).click();
    await finns.getByText('It was approved. The agent has not continued yet.').waitFor();
    await finns.getByText(/Its approval gave a grant: read-invoice on supplier invoices\/\*, with any/).waitFor();
    await finns.getByRole('link', { name: 'grant', exact: true }).click();
    await finns.getByRole('region', { name: 'What it served' }).waitFor();
    await finns.getByRole('link', { name: 'Decision' }).click();
    await finns.getByText('It was approved. The agent has not continued yet.').waitFor();
    await send(program, 'POST', `/api/v1/executions/${id}/resume`, { key: bot.key });
    expect(await readInvoice({ amount: 7 })).toMatchObject({ outcome: 'authorized' });

    await finns.getByRole('link', { name: 'Grants' }).click();
    await finns.getByRole('link', { name: /read-invoice on supplier invoices\/\*.*used 1 of 3 times/s }).click();
    const served = finns.getByRole('region', { name: 'What it served' });
    await served.getByRole('link', { name: 'supplier invoices/2' }).waitFor();
    await withAxe(finns);
    expect([await violations(finns), await overflow(finns)]).toEqual([[], 0]);
    await finns.getByLabel(/^Reason/).fill('The month is over.');
    await finns.getByRole('button', { name: 'Revoke it now' }).click();
    await finns.getByText('revoked', { exact: true }).waitFor();
    await finns.getByRole('link', { name: '← Grants' }).click();
    await finns.getByText('There are none.').waitFor();
    await finns.getByLabel('Status').selectOption('revoked');
    await finns.getByRole('link', { name: /read-invoice/ }).waitFor();
  });

  it('come of a rejection that says what would be right, which needs no policy for that', async () => {
    const { program, sara, supplier } = stage.company;
    const { decisionId, id } = await readInvoice({ only: 'sara', amount: 900 }, `suppliers/${supplier.id}`);
    const page = await opened(`decisions/${decisionId}`, sara.key);
    await page.getByRole('button', { name: 'Say what would be right' }).click();
    expect(await page.getByLabel('For how long').count()).toBe(0);
    const right = page.getByLabel(/^What would be right/);
    expect(JSON.parse(await right.inputValue())).toEqual({ only: 'sara', amount: 900 });
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await right.fill('[900]');
    await page.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('The arguments must be a JSON object.').waitFor();
    await right.fill('{"only": "sara", "amount": 90}');
    await page.getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText('It may be done once, by a grant.').waitFor();
    const { body } = await send(program, 'GET', `/api/v1/executions/${id}`);
    expect(body.rejection.instead).toMatchObject({
      parameters: { only: 'sara', amount: 90 },
      grantId: expect.any(String),
    });
    await page.getByRole('link', { name: 'grant', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: /suppliers\/Nordwind GmbH/ }).waitFor();
    await page.getByRole('link', { name: '← Grants' }).click();
    await page.getByRole('link', { name: /suppliers\/Nordwind GmbH/ }).waitFor();
  });
});
