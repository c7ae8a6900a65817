// The page of `spirloom serve`: a chat, or the continuation of a text, by the server's own API.
"use strict";

const element = (id) => document.getElementById(id);
const conversation = []; // the messages of a chat: {role, content}
let running = null; // the AbortController of the request

function headers() {
  const found = { "Content-Type": "application/json" };
  if (element("key").value) found.Authorization = `Bearer ${element("key").value}`;
  return found;
}

// A paragraph at the end of the conversation. Texts are never interpreted as HTML.
function show(kind, text) {
  const made = document.createElement("div");
  made.className = kind;
  made.textContent = text;
  element("messages").append(made);
  made.scrollIntoView({ block: "end" });
  return made;
}

async function readModel() {
  const response = await fetch("v1/models", { headers: headers() });
  element("key-field").hidden = response.status !== 401 && !element("key").value;
  if (!response.ok) return;
  const [model] = (await response.json()).data;
  element("model").textContent = model.id;
  element("context").textContent = `context ${model.context_length} tokens`;
  document.title = model.id;
}

// The events of a response as they arrive: data: JSON, separated by empty lines.
async function* eventsOf(response) {
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

async function request(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: headers(),
    body: JSON.stringify({
      ...body,
      stream: true,
      temperature: Number(element("temperature").value),
      max_tokens: Number(element("tokens").value),
    }),
    signal: running.signal,
  });
  if (response.ok) return eventsOf(response);
  if (response.status === 401) element("key-field").hidden = false;
  const { error } = await response.json();
  throw new Error(error.message);
}

// Appends the reply to the page, and returns its text.
async function answer(prompt) {
  const chats = element("mode").value === "chat";
  if (chats) conversation.push({ role: "user", content: prompt });
  show(chats ? "user" : "prompt", prompt);
  const place = show("assistant", "");
  const events = chats
    ? await request("v1/chat/completions", { messages: conversation })
    : await request("v1/completions", { prompt });
  for await (const event of events) {
    if (event.error) throw new Error(event.error.message);
    for (const choice of event.choices) {
      place.textContent += (chats ? choice.delta.content : choice.text) ?? "";
    }
    place.scrollIntoView({ block: "end" });
  }
  if (chats) conversation.push({ role: "assistant", content: place.textContent });
}

element("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  running = new AbortController();
  element("stop").hidden = false;
  const prompt = element("prompt").value;
  element("prompt").value = "";
  const before = conversation.length;
  try {
    await answer(prompt);
  } catch (error) {
    conversation.length = before; // a message without an answer
    if (error.name !== "AbortError") show("error", error.message);
  }
  running = null;
  element("stop").hidden = true;
});
element("prompt").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    element("form").requestSubmit();
  }
});
element("stop").addEventListener("click", () => running?.abort());
element("clear").addEventListener("click", () => {
  conversation.length = 0;
  element("messages").replaceChildren();
});
element("key").addEventListener("change", readModel);
element("example").textContent =
  `curl ${location.origin}/v1/chat/completions -H 'Content-Type: application/json' ` +
  `-d '{"messages": [{"role": "user", "content": "Hello"}]}'`;
readModel();
