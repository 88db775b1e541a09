import type { OpenAPIObject } from '@nestjs/swagger';
import { describeInBrowser, type Page, TestBrowser } from '../browser';
import { API_KEY } from '../../support/application/api-key';
import { createTestApp, type TestApp } from '../../support/application/create-test-app';
import { chainIsValid } from '../../support/application/factories';
import { readDocument } from '../../support/documents/markdown';
import { operationsOf } from '../../support/requests/api-document';

/** The page of the documentation, used by clicking only. */
class SwaggerUi {
  constructor(private readonly page: Page) {}

  /** The ids of the operations, from top to bottom. */
  async operations(): Promise<string[]> {
    const blocks = this.page.locator('.opblock');
    await blocks.first().waitFor();
    const ids = await blocks.evaluateAll((elements: { id: string }[]) => elements.map(({ id }) => id));
    return ids.map((id) => id.replace(/^operations-.+-(?=\w+$)/, ''));
  }

  async authorize(key: string): Promise<void> {
    await this.page.locator('button.authorize').first().click();
    const dialog = this.page.locator('.dialog-ux');
    await dialog.locator('.auth-container', { hasText: 'X-API-Key' }).locator('input').fill(key);
    await dialog.locator('.auth-container', { hasText: 'X-API-Key' }).getByText('Authorize', { exact: true }).click();
    await dialog.getByText('Logout').waitFor();
    await dialog.locator('.close-modal').click();
  }

  /** Executes an operation by its id with one of its examples, by default the first, and returns status and body. */
  async execute(operationId: string, example?: string): Promise<{ readonly status: string; readonly body: string }> {
    const block = this.page.locator(`[id$="-${operationId}"]`);
    await block.locator('.opblock-summary-control').click();
    if (example !== undefined) await block.locator('.examples-select select').first().selectOption(example);
    const previous = block.locator('button.btn-clear');
    if ((await previous.count()) > 0) await previous.click();
    await block.locator('button.execute').click();
    const row = block.locator('.live-responses-table tr.response');
    const body = row.locator('.response-col_description .microlight, .response-col_description pre').first();
    const answer = { status: await row.locator('.response-col_status').innerText(), body: await body.innerText() };
    // Open operations are rendered again with every answer.
    await block.locator('.opblock-summary-control').click();
    return answer;
  }
}

describeInBrowser('The page of the documentation', () => {
  let app: TestApp;
  let browser: TestBrowser;
  let ui: SwaggerUi;

  beforeAll(async () => {
    app = await createTestApp({ environment: { RATE_LIMIT: '10000' } });
    browser = await TestBrowser.launch();
    // The browser itself logs refusals as errors.
    ui = new SwaggerUi(await browser.open(`${app.url}/docs`, { expected: [/status of 403/] }));
    await ui.authorize(API_KEY);
  });
  afterAll(async () => {
    await browser.close();
    await chainIsValid(app);
    await app.close();
  });

  it('shows the operations in the order of the tags, then in that of the document', async () => {
    const document = JSON.parse(readDocument('openapi.json')) as OpenAPIObject;
    const operations = operationsOf(document);
    const expected = (document.tags ?? []).flatMap(({ name }) =>
      operations.filter(({ operation }) => operation.tags?.includes(name)).map(({ id }) => id),
    );
    expect(await ui.operations()).toEqual(expected);
  });

  it('goes through an approval with its own examples', async () => {
    const steps: readonly (readonly [
      operationId: string,
      example: string | undefined,
      status: string,
      part: string,
    ])[] = [
      ['agents_create', 'a proposer', '201', '"name": "reminder-bot"'],
      ['agents_create', 'an approver', '201', '"name": "change-reviewer"'],
      ['policies_create', 'a policy that allows', '201', '"collections-may-remind"'],
      ['policies_create', 'a policy that requires an approval', '201', '"write-offs-need-approval"'],
      ['execute_action', 'allowed by a policy', '200', '"outcome": "authorized"'],
      ['execute_action', 'one that needs an approval', '202', '"outcome": "pending_approval"'],
      // Asking again continues the same request.
      ['execute_action', 'one that needs an approval', '202', '"outcome": "pending_approval"'],
      ['execute_action', 'one to cancel', '202', '"outcome": "pending_approval"'],
      ['decisions_approve', undefined, '200', '"status": "approved"'],
      ['approvals_resume', undefined, '200', '"outcome": "authorized"'],
      ['approvals_cancel', undefined, '200', '"outcome": "cancelled"'],
      ['executions_report', undefined, '200', '"outcome": "executed"'],
      ['provenance_verify', undefined, '200', '"valid": true'],
    ];
    for (const [operationId, example, status, part] of steps) {
      const answer = await ui.execute(operationId, example);
      expect([operationId, answer.status.split('\n')[0], answer.body]).toEqual([
        operationId,
        status,
        expect.stringContaining(part),
      ]);
    }
    expect(browser.takeFaults()).toEqual([]);
  });
});
