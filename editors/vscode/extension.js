// Starts `ringhil step --dap` for a debug session. All else is VS Code's own debugger.
"use strict";
const fs = require("fs");
const path = require("path");
const vscode = require("vscode");

/** The command's file: VS Code itself says nothing, and starts nothing, when a name isn't in PATH. */
const located = (command, folder) => {
  const isName = path.basename(command) === command;
  const places = isName ? (process.env.PATH ?? "").split(path.delimiter) : [folder ?? ""];
  const file = places.map((place) => path.resolve(place, command)).find((each) => fs.existsSync(each));
  if (file === undefined) {
    const [where, there] = [isName ? " in PATH" : "", vscode.env.remoteName ? " of the remote machine" : ""];
    throw new Error(`There is no ${command}${where}: set ringhil.command in the settings${there} to the path of ringhil.`);
  }
  return file;
};

/** The adapter runs in the session's folder, where modules of firmware are found. */
class Factory {
  createDebugAdapterDescriptor(session) {
    const folder = session.workspaceFolder;
    const command = vscode.workspace.getConfiguration("ringhil", folder).get("command", "ringhil");
    const cwd = folder?.uri.fsPath;
    return new vscode.DebugAdapterExecutable(located(command, cwd), ["step", "--dap"], cwd ? { cwd } : {});
  }
}

/** vscode://ringhil.ringhil/step?program=FILE&at=N: a recording at the message or event of that number. */
class Opener {
  handleUri(uri) {
    const asked = new URLSearchParams(uri.query);
    const [program, at] = [asked.get("program"), Number(asked.get("at") ?? 0)];
    if (uri.path !== "/step" || !program || !Number.isSafeInteger(at) || at < 0) {
      return vscode.window.showErrorMessage("ringhil: allowed is /step?program=FILE&at=N");
    }
    const folder = vscode.workspace.workspaceFolders?.[0];
    return vscode.debug.startDebugging(folder, { type: "ringhil", request: "launch", name: "Step a run", program, at });
  }
}

exports.activate = (context) => {
  context.subscriptions.push(vscode.window.registerUriHandler(new Opener()));
  context.subscriptions.push(vscode.debug.registerDebugAdapterDescriptorFactory("ringhil", new Factory()));
};

exports.deactivate = () => {};
