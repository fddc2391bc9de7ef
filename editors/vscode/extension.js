// Starts `ringhil step --dap` for a debug session. All else is VS Code's own debugger.
"use strict";
const vscode = require("vscode");

/** The adapter runs in the session's folder, where modules of firmware are found. */
class Factory {
  createDebugAdapterDescriptor(session) {
    const folder = session.workspaceFolder;
    const command = vscode.workspace.getConfiguration("ringhil", folder).get("command", "ringhil");
    const options = folder === undefined ? {} : { cwd: folder.uri.fsPath };
    return new vscode.DebugAdapterExecutable(command, ["step", "--dap"], options);
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
