// node tour.mjs FLAVOUR PART URL RECORD TOKEN: one part of the tour. Fails with what was seen where it goes wrong.
// A part whose name begins with "modern: " or "legacy: " is only for clients that speak that era; one with "outside: "
// prints a line when something is to happen to the site.

import assert from "node:assert/strict";
import { resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { answer, connect, hear, taskSession } from "./connect.mjs";

const [flavour, part, url, record, token] = process.argv.slice(2);

const open = (options = {}) => connect(flavour, url, { record, ...options });

/** A client whose user, model and folders can be asked, and what they were asked. */
async function someoneToAsk() {
  const asked = [];
  const client = await open({
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    prepare(client) {
      answer(client, "elicitation/create", (params) => {
        asked.push(params.message);
        return { action: "accept", content: { name: "Ada", username: "ada", email: "ada@example.com" } };
      });
      answer(client, "sampling/createMessage", (params) => {
        asked.push([params.messages[0].content].flat()[0].text);
        return { role: "assistant", model: "tour", stopReason: "endTurn", content: { type: "text", text: "Paris" } };
      });
      answer(client, "roots/list", () => ({ roots: [{ uri: "file:///tour", name: "tour" }] }));
    },
  });
  return { client, asked };
}

const parts = {
  async "says who it is"() {
    const client = await open();
    assert.equal(client.getServerVersion().name, "django-zolinga");
    assert.deepEqual(client.getServerCapabilities().tools !== undefined, true);
    await client.close();
  },

  async "lists every tool, a page at a time"() {
    const client = await open();
    const names = [];
    if (flavour === "sdk-v1") {
      let pages = 0;
      let cursor;
      do {
        const page = await client.listTools({ cursor });
        names.push(...page.tools.map((tool) => tool.name));
        cursor = page.nextCursor;
        pages += 1;
      } while (cursor);
      assert.ok(pages > 1, "there is only one page");
    } else {
      names.push(...(await client.listTools()).tools.map((tool) => tool.name)); // it reads them all
    }
    assert.deepEqual(names, [...names].sort());
    assert.equal(new Set(names).size, names.length);
    for (const name of ["getPricingList", "test_image_content", "test_x_mcp_header"]) assert.ok(names.includes(name), name);
    await client.close();
  },

  async "calls a tool and gets its structure"() {
    const client = await open();
    await client.listTools(); // so that the client knows the output schema, and checks the result
    const result = await client.callTool({ name: "getPricingList", arguments: { search: "austria" } });
    assert.equal(result.isError, false);
    assert.match(JSON.stringify(result.structuredContent), /Austria/);
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    await client.close();
  },

  async "hears why a tool says no"() {
    const client = await open();
    const said = await client.callTool({ name: "test_error_handling", arguments: {} });
    assert.equal(said.isError, true);
    assert.equal(said.content[0].text, "This tool intentionally returns an error for testing");
    const faulty = await client.callTool({ name: "getPricingList", arguments: { search: 5 } });
    assert.equal(faulty.isError, true);
    assert.match(faulty.content[0].text, /\/search/);
    await client.close();
  },

  async "hears of a tool that is not there"() {
    const client = await open();
    await assert.rejects(client.callTool({ name: "no-such-tool", arguments: {} }), (error) => {
      assert.equal(error.code, -32602, String(error));
      assert.match(error.message, /Unknown tool: no-such-tool/);
      return true;
    });
    await client.close();
  },

  async "gets texts, pictures, sounds and resources"() {
    const client = await open();
    const blocks = async (name) => (await client.callTool({ name, arguments: {} })).content;
    assert.deepEqual(await blocks("test_simple_text"), [
      { type: "text", text: "This is a simple text response for testing." },
    ]);
    const [image] = await blocks("test_image_content");
    assert.equal(image.mimeType, "image/png");
    assert.equal(Buffer.from(image.data, "base64").subarray(1, 4).toString(), "PNG");
    const [audio] = await blocks("test_audio_content");
    assert.equal(audio.mimeType, "audio/wav");
    assert.equal(Buffer.from(audio.data, "base64").subarray(0, 4).toString(), "RIFF");
    const [embedded] = await blocks("test_embedded_resource");
    assert.equal(embedded.resource.uri, "test://embedded-resource");
    const mixed = await blocks("test_multiple_content_types");
    assert.deepEqual(mixed.map((block) => block.type), ["text", "image", "resource"]);
    await client.close();
  },

  async "repeats an argument in a header where the schema says so"() {
    const client = await open();
    await client.listTools();
    const result = await client.callTool({ name: "test_x_mcp_header", arguments: { region: "Île de " } });
    assert.equal(result.isError, false, JSON.stringify(result));
    assert.match(JSON.stringify(result.content), /Île de /);
    await client.close();
  },

  async "modern: answers what a tool asks, in rounds"() {
    const { client, asked } = await someoneToAsk();
    const greeted = await client.callTool({ name: "test_input_required_result_elicitation", arguments: {} });
    assert.equal(greeted.isError, false, JSON.stringify(greeted));
    assert.match(JSON.stringify(greeted.content), /Hello, Ada!/);
    assert.deepEqual(asked, ["What is your name?"]);
    for (const name of ["sampling", "list_roots"]) {
      const result = await client.callTool({ name: `test_input_required_result_${name}`, arguments: {} });
      assert.equal(result.isError, false, JSON.stringify(result));
    }
    assert.equal(asked[1], "What is the capital of France?");
    await client.close();
  },

  async "legacy: answers what a tool asks, while the call is open"() {
    const { client, asked } = await someoneToAsk();
    const elicited = await client.callTool({ name: "test_elicitation", arguments: { message: "Who are you?" } });
    assert.equal(elicited.isError, false, JSON.stringify(elicited));
    const sampled = await client.callTool({ name: "test_sampling", arguments: { prompt: "What is the capital?" } });
    assert.equal(sampled.isError, false, JSON.stringify(sampled));
    assert.match(JSON.stringify(sampled.content), /Paris/);
    assert.deepEqual(asked, ["Who are you?", "What is the capital?"]);
    await client.close();
  },

  async "modern: hears what it would have to be able to do"() {
    const client = await open();
    await assert.rejects(client.callTool({ name: "test_missing_capability", arguments: {} }), (error) => {
      assert.equal(error.code, -32021, String(error));
      assert.deepEqual(error.data.requiredCapabilities, { sampling: {} });
      return true;
    });
    await client.close();
  },

  async "lists and reads resources"() {
    const client = await open();
    const uris = (await client.listResources()).resources.map((resource) => resource.uri);
    for (const name of ["static-text", "static-binary"]) assert.ok(uris.includes(`test://${name}`), uris.join());
    const templates = (await client.listResourceTemplates()).resourceTemplates;
    assert.ok(templates.some((template) => template.uriTemplate === "test://template/{id}/data"));
    const [text] = (await client.readResource({ uri: "test://static-text" })).contents;
    assert.deepEqual([text.mimeType, text.text], ["text/plain", "This is the content of the static text resource."]);
    const [binary] = (await client.readResource({ uri: "test://static-binary" })).contents;
    assert.equal(Buffer.from(binary.blob, "base64").subarray(1, 4).toString(), "PNG");
    const [made] = (await client.readResource({ uri: "test://template/123/data" })).contents;
    assert.equal(JSON.parse(made.text).id, "123");
    await client.close();
  },

  async "hears of a resource that is not there"() {
    const client = await open();
    await assert.rejects(client.readResource({ uri: "test://nowhere" }), (error) => {
      assert.equal(error.code, flavour === "sdk-v1" ? -32002 : -32602, String(error)); // the second one translates
      assert.equal(error.data.uri, "test://nowhere");
      return true;
    });
    await client.close();
  },

  async "lists prompts and gets one with its arguments"() {
    const client = await open();
    const names = [];
    let cursor;
    do {
      const page = await client.listPrompts(cursor ? { cursor } : undefined);
      names.push(...page.prompts.map((prompt) => prompt.name));
      cursor = page.nextCursor;
    } while (cursor);
    assert.ok(names.includes("test_simple_prompt"), names.join());
    const given = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "one", arg2: "{{arg1}}" } });
    assert.equal(given.messages[0].content.text, "Prompt with arguments: arg1='one', arg2='{{arg1}}'");
    const image = await client.getPrompt({ name: "test_prompt_with_image" });
    assert.deepEqual(image.messages.map((message) => message.content.type), ["image", "text"]);
    await assert.rejects(client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "one" } }), (error) => {
      assert.equal(error.code, -32602, String(error));
      return true;
    });
    await client.close();
  },

  async "completes an argument"() {
    const client = await open();
    const { completion } = await client.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "test" },
    });
    assert.deepEqual(completion.values, ["test", "testValue1"]);
    await client.close();
  },

  async "sees how far a call is"() {
    const client = await open();
    const seen = [];
    const options = { onprogress: ({ progress, total }) => seen.push([progress, total]) };
    const call = { name: "test_tool_with_progress", arguments: {} };
    const result =
      flavour === "sdk-v1" ? await client.callTool(call, undefined, options) : await client.callTool(call, options);
    assert.equal(result.content[0].text, "It is done.");
    assert.deepEqual(seen, [[0, 100], [50, 100], [100, 100]]);
    await client.close();
  },

  async "hears what a tool logs"() {
    const heard = [];
    const client = await open({
      prepare: (client) => hear(client, "notifications/message", ({ level, data }) => heard.push([level, data])),
    });
    const call = { name: "test_tool_with_logging", arguments: {} };
    if (flavour === "client-v2") call._meta = { "io.modelcontextprotocol/logLevel": "debug" };
    else await client.setLoggingLevel("debug");
    await client.callTool(call);
    assert.deepEqual(heard, [
      ["info", "Tool execution started"],
      ["info", "Tool processing data"],
      ["info", "Tool execution completed"],
    ]);
    await client.close();
  },

  async "modern: lets a call go on in the background"() {
    const client = await open({ capabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } });
    const session = taskSession(client, url, { record });
    const execution = await session.callTool("slow_compute", { seconds: 1 });
    const { outcome } = await execution.settle();
    const result = resultFromTaskOutcome(outcome);
    assert.match(JSON.stringify(result.content), /Computed it in 1 seconds/);
    await session.close();
  },

  async "outside: hears that the tools changed"() {
    let tell;
    const told = new Promise((resolve) => (tell = resolve));
    const client = await open();
    client.setNotificationHandler("notifications/tools/list_changed", tell);
    const subscription = await client.listen({ toolsListChanged: true });
    console.log("listening");
    await told;
    await subscription.close();
    await client.close();
  },

  async "is refused without a token and let in with one"() {
    const anonymous = await open();
    await assert.rejects(anonymous.callTool({ name: "listPriceAlerts", arguments: {} }), (error) => {
      assert.match(`${error.name} ${error.code} ${error.status} ${error.message}`, /401|[Uu]nauthorized/);
      return true;
    });
    await anonymous.close();
    const known = await open({ token });
    const result = await known.callTool({ name: "listPriceAlerts", arguments: {} });
    assert.equal(result.isError, false, JSON.stringify(result));
    await known.close();
  },
};

assert.ok(part in parts, `There is no part ${part}.`);
await parts[part]();
process.exit(0); // whatever stream is still open
